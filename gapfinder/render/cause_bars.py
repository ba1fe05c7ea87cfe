"""Hole time by cause as one bar per lane, for the HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.findings.words import lane_name
from gapfinder.render.cause_tables import causes_shown, shares_of_holes
from gapfinder.render.lane_tables import shown_lanes
from gapfinder.render.page_parts import escape
from gapfinder.render.table import left_out
from gapfinder.render.words import cause_words
from gapfinder.units import format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.explanations import Cause
    from gapfinder.model import Analysis

_CAUSES = 8
_LABELLED_FROM = 0.14
_OTHERS = "others"


def cause_bars(analysis: Analysis, *, limit: int) -> Iterator[str]:
    """Yield a legend and one bar per measured lane, all on one scale; nothing where there are no holes."""
    causes = causes_shown(analysis, limit=_CAUSES)
    indices = [index for index in shown_lanes(analysis, limit=limit) if analysis.lanes[index].is_idle_known]
    full = max((analysis.lanes[index].holes.total_ns for index in indices), default=0)
    if not causes or not full:
        return
    shown: list[Cause | None] = [*causes]
    if any(cause is None for index in indices for cause, _ in shares_of_holes(analysis.lanes[index], causes)):
        shown.append(None)
    legend = "".join(f'<li><span class="swatch {_class(cause)}"></span>{_name(cause)}</li>' for cause in shown)
    yield (
        f'<section><h2>Why the holes are there</h2>\n<ul class="legend">{legend}</ul>\n<p>Hole time of each lane; the '
        f'full width is {format_duration(full)}.</p>\n<div class="budgets">'
    )
    for index in indices:
        total = format_duration(analysis.lanes[index].holes.total_ns)
        bar = _bar(analysis, index, causes, full_ns=full)
        yield f"<div><b>{lane_name(analysis, index)}</b>{bar}<span>{total}</span></div>"
    yield f"</div><p>{left_out(len(indices), len(analysis.lanes), 'lane', 'those that compute least')}</p></section>"


def _bar(analysis: Analysis, index: int, causes: list[Cause], *, full_ns: int) -> str:
    lane = analysis.lanes[index]
    shares = shares_of_holes(lane, causes)
    segments = []
    for cause, ns in shares:
        label = f"<i>{format_share(ns / lane.holes.total_ns)}</i>" if ns / full_ns >= _LABELLED_FROM else ""
        segments.append(f'<span class="{_class(cause)}" style="flex-grow:{ns}">{label}</span>')
    if full_ns > lane.holes.total_ns:
        segments.append(f'<span class="rest" style="flex-grow:{full_ns - lane.holes.total_ns}"></span>')
    spoken = ", ".join(f"{_name(cause)} {format_share(ns / lane.holes.total_ns)}" for cause, ns in shares)
    label = f"{lane_name(analysis, index)}: holes of {format_duration(lane.holes.total_ns)}: {spoken or 'none'}"
    return f'<div class="bar causes" role="img" aria-label="{escape(label)}">{"".join(segments)}</div>'


def _name(cause: Cause | None) -> str:
    return _OTHERS if cause is None else cause_words(cause)


def _class(cause: Cause | None) -> str:
    return "cause" if cause is None else f"cause {cause}"
