"""Steps: a heat map of lanes or processes by step, and how the lengths of each one's steps are distributed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from dashboards.components.palette import COMPUTE, INK
from dashboards.figures.style import LEGEND_ABOVE, duration_ticks, escaped, figure
from gapfinder.units import format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboards.components.palette import Theme

_ROW, _AXIS, _LOWEST = 26, 60, 130
_FEW = 30
_TALL = 5
_SCALE = "Cividis"  # made for colour-blind eyes: J. R. Nuñez et al., PLOS ONE 13 (2018)


@dataclass(frozen=True, kw_only=True, slots=True)
class Grid:
    """One number of every lane, or process, in every step.

    Attributes:
        title: what the number is.
        labels: of the rows.
        numbers: of the steps, in order.
        values: by row and step, ns or a ratio; None where there is none.
        is_ratio: they are ratios.
        links: by row and step, where a click leads; None where nowhere.
    """

    title: str
    labels: tuple[str, ...]
    numbers: tuple[int, ...]
    values: tuple[tuple[float | None, ...], ...]
    is_ratio: bool
    links: tuple[tuple[str | None, ...], ...]


def heat_figure(grid: Grid, *, theme: Theme) -> go.Figure:
    """Return the grid as a heat map; a click tells the link of its cell as `customdata`."""
    made = figure(theme=theme, height=max(_AXIS + _ROW * len(grid.labels), _LOWEST))
    known = [value for row in grid.values for value in row if value is not None]
    bar = {"thickness": 12, "outlinewidth": 0, "tickfont": {"color": INK.color(theme)}}
    bar |= _bar_ticks(grid, known)
    made.add_trace(
        go.Heatmap(
            z=grid.values,
            x=list(range(len(grid.numbers))),
            y=list(range(len(grid.labels))),
            text=[
                [escaped(_words(grid, row, step)) for step in range(len(grid.numbers))]
                for row in range(len(grid.labels))
            ],
            customdata=grid.links,
            hovertemplate="%{text}<extra></extra>",
            hoverongaps=False,
            colorscale=_SCALE,
            xgap=1,
            ygap=1,
            colorbar=bar,
        )
    )
    labels = [escaped(label) for label in grid.labels]
    made.update_yaxes(tickvals=list(range(len(labels))), ticktext=labels, autorange="reversed")
    every = max(len(grid.numbers) // _FEW, 1)
    shown = range(0, len(grid.numbers), every)
    made.update_xaxes(
        title_text="step", tickvals=list(shown), ticktext=[str(grid.numbers[place]) for place in shown], showgrid=False
    )
    return made


def _bar_ticks(grid: Grid, known: Sequence[float]) -> dict[str, list[float] | list[str]]:
    """Return the scale's ticks: its ends, and between them round durations where there is room for them."""
    if not known:
        return {}
    least, most = min(known), max(known)
    if not grid.is_ratio and len(grid.labels) >= _TALL:
        return duration_ticks(round(most), least_ns=round(least))
    ends = sorted({least, most})
    return {"tickvals": ends, "ticktext": [_value_words(grid, end) for end in ends]}


def _words(grid: Grid, row: int, step: int) -> str:
    value = grid.values[row][step]
    if value is None:
        return ""
    return f"{grid.labels[row]}, step {grid.numbers[step]}: {grid.title} {_value_words(grid, value)}"


def _value_words(grid: Grid, value: float) -> str:
    return format_share(value) if grid.is_ratio else format_duration(round(value))


@dataclass(frozen=True, kw_only=True, slots=True)
class Lengths:
    """The lengths of one lane's, or process's, steps in ns, and what is said of them."""

    label: str
    each_ns: tuple[int, ...]
    p50_ns: int
    mean_ns: int
    p99_ns: int


def length_figure(lengths: Sequence[Lengths], *, theme: Theme) -> go.Figure:
    """Return a row of points for each lane, one for each step, with marks for p50, mean and p99."""
    made = figure(theme=theme, height=max(_AXIS + _ROW * len(lengths), _LOWEST))
    points = [(ns, place, one.label) for place, one in enumerate(lengths) for ns in one.each_ns]
    made.add_trace(
        go.Scatter(
            mode="markers",
            name="steps",
            x=[ns for ns, _, _ in points],
            y=[place for _, place, _ in points],
            text=[escaped(f"{label}: {format_duration(ns)}") for ns, _, label in points],
            hovertemplate="%{text}<extra></extra>",
            marker={"color": COMPUTE.color(theme), "size": 7, "opacity": 0.65},
        )
    )
    for name, symbol, marks in (
        ("p50", "line-ns", [one.p50_ns for one in lengths]),
        ("mean", "x-thin", [one.mean_ns for one in lengths]),
        ("p99", "triangle-left", [one.p99_ns for one in lengths]),
    ):
        made.add_trace(
            go.Scatter(
                mode="markers",
                name=name,
                x=marks,
                y=list(range(len(lengths))),
                text=[
                    escaped(f"{one.label}: {name} {format_duration(ns)}")
                    for one, ns in zip(lengths, marks, strict=True)
                ],
                hovertemplate="%{text}<extra></extra>",
                marker={
                    "symbol": symbol,
                    "size": 13,
                    "color": INK.color(theme),
                    "line": {"width": 2, "color": INK.color(theme)},
                },
            )
        )
    everything = [ns for ns, _, _ in points]
    least, most = min(everything, default=0), max(everything, default=1)
    margin = (most - least) // 20 or max(most // 200, 1)
    made.update_xaxes(range=[least - margin, most + margin], **duration_ticks(most + margin, least_ns=least - margin))
    labels = [escaped(one.label) for one in lengths]
    made.update_yaxes(
        tickvals=list(range(len(labels))), ticktext=labels, range=[len(labels) - 0.5, -0.5], showgrid=True
    )
    made.update_layout(showlegend=True, legend=LEGEND_ABOVE, margin_t=30)
    return made
