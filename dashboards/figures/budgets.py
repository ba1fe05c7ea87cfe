"""Where each lane's window, or a step before and after, went: bars whose parts add up to all of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from dashboards.components.palette import PARTS
from dashboards.figures.style import SHARES, duration_ticks, escaped, figure, marker
from gapfinder.render.parts import IDLE
from gapfinder.units import format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboards.components.palette import Theme
    from gapfinder.budget import Budget
    from gapfinder.render.parts import Part

_ROW, _AXIS = 30, 40
_LAST_TICK = 24  # half of the last tick's text is beyond the end


@dataclass(frozen=True, slots=True)
class Bar:
    """One budget under its label.

    Attributes:
        is_idle_known: its idle time was measured.
    """

    label: str
    budget: Budget
    is_idle_known: bool = True


def budget_figure(bars: Sequence[Bar], *, parts: Sequence[Part], theme: Theme, full_ns: int | None = None) -> go.Figure:
    """Return one stacked bar for each budget, first on top: shares of its window, or of `full_ns` for all of them."""
    made = figure(theme=theme, height=_AXIS + _ROW * max(len(bars), 2))
    for part in parts:
        made.add_trace(
            go.Bar(
                orientation="h",
                name=part.label,
                y=list(range(len(bars))),
                x=[part.measure(bar.budget) / (full_ns or bar.budget.window_ns or 1) for bar in bars],
                customdata=[[escaped(_words(bar, part))] for bar in bars],
                hovertemplate="%{customdata[0]}<extra></extra>",
                marker=marker(PARTS[part.key], theme=theme),
            )
        )
    made.update_layout(barmode="stack")
    labels = [escaped(bar.label) for bar in bars]
    made.update_yaxes(tickvals=list(range(len(bars))), ticktext=labels, autorange="reversed")
    made.update_xaxes(range=[0, 1.004], showgrid=False, **(SHARES if full_ns is None else _times(full_ns)))
    made.update_layout(margin_r=_LAST_TICK)
    return made


def _times(full_ns: int) -> dict[str, list[float] | list[str]]:
    """Return ticks at round durations, where all that can be shown takes `full_ns`."""
    ticks = duration_ticks(full_ns)
    return ticks | {"tickvals": [float(place) / full_ns for place in ticks["tickvals"]]}


def _words(bar: Bar, part: Part) -> str:
    if part is IDLE and not bar.is_idle_known:
        return f"{bar.label}: {part.label} not measured"
    ns = part.measure(bar.budget)
    share = format_share(ns / bar.budget.window_ns) if bar.budget.window_ns else "-"
    return f"{bar.label}: {part.label} {share}, {format_duration(ns)}"
