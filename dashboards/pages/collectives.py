"""The collectives of one profile: what was waited, what was transferred, how fast, and every single one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from dashboards.components.graphs import graph
from dashboards.components.notices import empty, not_measured, text
from dashboards.components.tables import framed, section
from dashboards.components.tabs import tabs
from dashboards.figures.collectives import Split, speed_figure, split_figure
from dashboards.pages.collective_rows import longest_instances, speeds_by_size
from gapfinder.model import NO_COMMUNICATION
from gapfinder.render.cause_tables import collective_table, straggler_table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dash import Dash
    from dash.development.base_component import Component

    from dashboards.components.palette import Theme
    from dashboards.data.opening import OpenProfile
    from dashboards.ids import Asked
    from dashboards.view import View
    from gapfinder.explanations import CollectiveSummary
    from gapfinder.model import Analysis

_KINDS, _TABS, _BARS, _INSTANCES = 100, 24, 16, 50
_NO_SIZES = (
    "they come from the payloads of NCCL's NVTX ranges, and this capture has none; trace nvtx (nsys profile "
    "--trace=cuda,nvtx), with an nsys and an NCCL that are newer"
)


def layout(view: View, asked: Asked, *, theme: Theme) -> Component:
    """Return the page; the query chooses the kind whose instances are listed (`kind`, a place in the table)."""
    profile = view.profiles.get(asked.profile or "")
    head = [html.H1("Collectives"), html.P(text(profile.stored.name), className="source")]
    if not profile.analysis.collectives:
        return html.Article([*head, _without(profile.analysis)])
    return html.Article([*head, *_sections(profile, asked, theme=theme)])


def register(app: Dash, view: View) -> None:
    """Add nothing: the page has no callbacks."""


def _sections(profile: OpenProfile, asked: Asked, *, theme: Theme) -> Iterator[Component]:
    analysis = profile.analysis
    kinds = kinds_shown(analysis)
    table = collective_table(analysis, limit=_KINDS)
    if table is not None:
        yield framed(table)
    yield html.Section([html.H2("Waiting and transfer"), *_split(analysis, kinds, theme=theme)])
    yield html.Section([html.H2("Bandwidth by size"), *_speed(profile, theme=theme)])
    yield from filter(None, [section(straggler_table(analysis))])
    number = asked.number("kind") or 0
    chosen = kinds[number] if number < len(kinds) else kinds[0]
    choices = [
        (_label(analysis, kind), asked.address(kind=place), kind is chosen) for place, kind in enumerate(kinds[:_TABS])
    ]
    found = longest_instances(profile, chosen, limit=_INSTANCES)
    listing = [] if found is None else [framed(found.table, links=found.links)]
    yield html.Section([html.H2("The longest collectives"), tabs("Operation", choices), *listing])


def kinds_shown(analysis: Analysis) -> list[CollectiveSummary]:
    """Return the kinds in the order of the table: the most exposed first."""
    return sorted(analysis.collectives, key=lambda one: (-one.exposed_ns, one.operation, one.communicator))[:_KINDS]


def _label(analysis: Analysis, kind: CollectiveSummary) -> str:
    """Return the operation, and its group where there are several."""
    several = len({one.communicator for one in analysis.collectives}) > 1
    return f"{kind.operation}, {kind.communicator}" if several else kind.operation


def _split(analysis: Analysis, kinds: list[CollectiveSummary], *, theme: Theme) -> Iterator[Component]:
    splits = [
        Split(label=_label(analysis, kind), wait_ns=kind.wait_ns, transfer_ns=kind.transfer_ns)
        for kind in kinds
        if kind.wait_ns is not None
    ]
    if not splits:
        lanes = (
            "only one lane was captured" if len(analysis.lanes) == 1 else "no lane's operations were found on others"
        )
        yield not_measured("Waiting and transfer", reason=f"{lanes}, and the split compares lanes")
        return
    yield html.P(
        "Summed over lanes. Waiting is for the last lane to come; transfer is from then on.", className="caption"
    )
    yield graph(
        split_figure(splits[:_BARS], theme=theme),
        name="collectives-split",
        label="Waiting and transfer of each operation, summed over lanes; the table above has the numbers.",
    )


def _speed(profile: OpenProfile, *, theme: Theme) -> Iterator[Component]:
    speeds = speeds_by_size(profile.trace.collectives)
    link = profile.analysis.link
    if not speeds:
        yield not_measured("Sizes and bandwidths", reason=_NO_SIZES)
        return
    if link is not None:
        ideal = f"The dashed line is what the link carries: {link.reason}."
        yield html.P(
            text(ideal if link.bandwidth is not None else f"There is no ideal to compare with: {link.reason}."),
            className="caption",
        )
    yield graph(
        speed_figure(speeds, ideal=None if link is None else link.bandwidth, theme=theme),
        name="collectives-speed",
        label="Median bus bandwidth of each operation by its size, against what the link carries.",
    )


def _without(analysis: Analysis) -> Component:
    reasons = dict.fromkeys(lane.overlap_reason for lane in analysis.lanes if lane.overlap_reason)
    told = [reason for reason in reasons if reason != NO_COMMUNICATION]
    return empty(
        "No collectives were captured",
        *(f"Not measured: {reason}." for reason in told),
        *(("No kernel of a communication library ran on any lane.",) if analysis.lanes and not told else ()),
        *(("The capture holds no GPU work at all.",) if not analysis.lanes else ()),
        "Kernels of your own that communicate can be named: gapfinder analyze --communication-pattern, or the settings "
        "file.",
    )
