"""Hole time by cause, the most first."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from dashboards.components.palette import cause_paint
from dashboards.figures.style import figure, marker
from gapfinder.render.words import cause_words
from gapfinder.units import format_duration, format_share

if TYPE_CHECKING:
    from dashboards.components.palette import Theme
    from gapfinder.explanations import Cause
    from gapfinder.model import Analysis

_ROW, _AXIS = 40, 16


def cause_sums(analysis: Analysis) -> list[tuple[Cause, int]]:
    """Return hole time by cause over the lanes whose holes could be measured, the most first."""
    sums: Counter[Cause] = Counter()
    for lane in analysis.measured_lanes().values():
        sums.update(lane.causes)
    return sorted(((cause, ns) for cause, ns in sums.items() if ns), key=lambda item: (-item[1], item[0]))


def cause_figure(analysis: Analysis, *, theme: Theme) -> go.Figure:
    """Return one bar for each cause, with its time and its share of all hole time."""
    sums = cause_sums(analysis)
    total = sum(ns for _, ns in sums)
    labels: list[str] = []
    made = figure(theme=theme, height=_AXIS + _ROW * max(len(sums), 1))
    for place, (cause, ns) in enumerate(sums):
        words = f"{format_share(ns / total)}, {format_duration(ns)}"
        labels.append(f"{cause_words(cause)}<br>{words}")
        made.add_trace(
            go.Bar(
                orientation="h",
                name=cause_words(cause),
                y=[place],
                x=[ns / total],
                hovertemplate=f"{cause_words(cause)}: {words}<extra></extra>",
                marker=marker(cause_paint(cause), theme=theme),
            )
        )
    made.update_yaxes(
        tickvals=list(range(len(sums))),
        ticktext=labels,
        autorange="reversed",
    )
    made.update_xaxes(visible=False)
    return made
