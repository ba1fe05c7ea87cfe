"""The overview of one profile: the verdict, the numbers it rests on, and what to do first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import dcc, html

from dashboards.components.cards import card, cards
from dashboards.components.graphs import graph
from dashboards.components.legends import part_legend, severity_chip
from dashboards.components.notices import empty, not_measured, remarks, text, trouble
from dashboards.components.tables import section
from dashboards.figures.budgets import Bar, budget_figure
from dashboards.figures.causes import cause_figure, cause_sums
from dashboards.ids import Page, address
from gapfinder.findings.words import lane_name
from gapfinder.render.finding_words import lost_words
from gapfinder.render.lane_tables import lane_table, shown_lanes
from gapfinder.render.parts import parts
from gapfinder.render.process_tables import process_tables
from gapfinder.render.table import left_out
from gapfinder.render.verdict import notes, verdict
from gapfinder.render.words import source_words
from gapfinder.units import format_count, format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dash import Dash
    from dash.development.base_component import Component

    from dashboards.components.palette import Theme
    from dashboards.data.opening import OpenProfile
    from dashboards.ids import Asked
    from dashboards.view import View
    from gapfinder.model import Analysis, Total

_LANES, _FINDINGS, _STEPS = 64, 3, 10


def layout(view: View, asked: Asked, *, theme: Theme) -> Component:
    """Return the page."""
    profile = view.profiles.get(asked.profile or "")
    analysis = profile.analysis
    content = _measured(profile, theme=theme) if analysis.lanes else _on_the_host(profile, theme=theme)
    return html.Article(
        [
            html.H1(text(profile.stored.name)),
            html.P(text(source_words(analysis)), className="source"),
            trouble(view.store.profile(profile.stored.id)),
            html.P(text(verdict(analysis)), className="verdict"),
            *content,
            remarks("Not measured, and worth knowing", notes(analysis)),
        ]
    )


def register(app: Dash, view: View) -> None:
    """Add nothing: the page has no callbacks."""


def _measured(profile: OpenProfile, *, theme: Theme) -> Iterator[Component]:
    analysis = profile.analysis
    if analysis.total is not None:
        yield _cards(analysis, analysis.total)
    yield from _findings(profile, theme=theme)
    indices = shown_lanes(analysis, limit=_LANES)
    bars = [
        Bar(lane_name(analysis, index), lane.budget, is_idle_known=lane.is_idle_known)
        for index, lane in ((index, analysis.lanes[index]) for index in indices)
    ]
    yield html.Section(
        [
            html.H2("Where the time goes"),
            part_legend(parts(analysis), theme=theme),
            graph(
                budget_figure(bars, parts=parts(analysis), theme=theme),
                name="budgets",
                label="Where the window of each lane went, in shares that add up to all of it, as in the table below.",
            ),
            html.P(
                left_out(len(indices), len(analysis.lanes), "lane", "those that compute least"), className="caption"
            ),
        ]
    )
    yield from _causes(analysis, theme=theme)
    table = section(lane_table(analysis, limit=_LANES))
    if table is not None:
        yield table


def _cards(analysis: Analysis, total: Total) -> Component:
    budget = total.budget
    several = len(analysis.lanes) > 1
    if total.overlap_ratio is None:
        overlap = card("Overlap ratio", "not measured", total.overlap_reason or "")
    else:
        worst = "of the communication was hidden"
        if several and total.worst_lane is not None:
            ratio = analysis.lanes[total.worst_lane].overlap_ratio
            worst = (
                f"worst: {lane_name(analysis, total.worst_lane)}, {format_share(ratio)}" if ratio is not None else ""
            )
        overlap = card("Overlap ratio", format_share(total.overlap_ratio), worst)
    idle = (
        card("Idle", "not measured", total.idle_reason)
        if total.idle_reason
        else card("Idle", format_share(budget.idle_ns / budget.window_ns), _summed(analysis, budget.idle_ns))
    )
    exposed = card(
        "Exposed communication",
        format_share(budget.exposed_ns / budget.window_ns),
        _summed(analysis, budget.exposed_ns),
    )
    return cards(overlap, exposed, idle, *_step_cards(analysis))


def _summed(analysis: Analysis, ns: int) -> str:
    over = f" summed over {format_count(len(analysis.lanes), 'lane')}" if len(analysis.lanes) > 1 else ""
    return f"{format_duration(ns)}{over}"


def _step_cards(analysis: Analysis) -> Iterator[Component]:
    """Yield the steps' lengths on the lane where they are longest; lanes of one job have nearly the same."""
    with_steps = [(index, lane.steps) for index, lane in enumerate(analysis.lanes) if lane.steps]
    if not with_steps:
        reasons = dict.fromkeys(lane.steps_reason for lane in analysis.lanes if lane.steps_reason)
        yield card("Step time", "not measured", "; ".join(reasons))
        return
    for label, lengths in (
        ("p50", [steps.p50_ns for _, steps in with_steps]),
        ("p99", [steps.p99_ns for _, steps in with_steps]),
    ):
        longest = max(lengths)
        index, steps = with_steps[lengths.index(longest)]
        where = f"longest: {lane_name(analysis, index)}, " if len(with_steps) > 1 else ""
        yield card(f"Step {label}", format_duration(longest), f"{where}{format_count(steps.count, 'step')}")


def _findings(profile: OpenProfile, *, theme: Theme) -> Iterator[Component]:
    analysis = profile.analysis
    if not analysis.findings:
        return
    target = address(Page.FINDINGS, profile=profile.stored.id)
    items = [
        html.Li(
            [
                severity_chip(one.severity, theme=theme),
                dcc.Link(text(one.title), href=f"{target}#{one.code}"),
                html.Small(text(lost_words(analysis, one))),
            ]
        )
        for one in analysis.findings[:_FINDINGS]
    ]
    others = len(analysis.findings) - len(items)
    more = [dcc.Link(f"All {format_count(len(analysis.findings), 'finding')}", href=target)] if others else []
    yield html.Section([html.H2("What to change first"), html.Ol(items, className="brief"), *more])


def _causes(analysis: Analysis, *, theme: Theme) -> Iterator[Component]:
    reasons = dict.fromkeys(lane.idle_reason for lane in analysis.lanes if lane.idle_reason)
    parts_shown: list[Component] = [not_measured("Some holes", reason=reason) for reason in reasons]
    if cause_sums(analysis):
        label = "Hole time by cause, over all lanes, the most first."
        parts_shown.append(html.P("Hole time over all lanes, and what it is charged to.", className="caption"))
        parts_shown.append(graph(cause_figure(analysis, theme=theme), name="causes", label=label))
    elif not reasons:
        shortest = format_duration(analysis.lanes[0].holes.min_gap_ns)
        parts_shown.append(html.P(f"There is no hole of {shortest} or more.", className="caption"))
    yield html.Section([html.H2("Why the holes are there"), *parts_shown])


def _on_the_host(profile: OpenProfile, *, theme: Theme) -> Iterator[Component]:
    """Yield what is known without GPU work: findings about the host, then steps and phases by process."""
    yield from _findings(profile, theme=theme)
    tables = process_tables(profile.analysis, limit=_LANES, steps=_STEPS)
    if not tables:
        yield empty(
            "No GPU work and no steps",
            "The capture holds no GPU operation that takes time, and no NVTX range that marks a step.",
            "Capture again with gapfinder run, which marks steps by itself: gapfinder run train.py",
        )
    for table in tables:
        shown = section(table)
        if shown is not None:
            yield shown
