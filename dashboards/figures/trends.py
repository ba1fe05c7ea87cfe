"""One metric over stored runs, with the levels it had."""

from __future__ import annotations

from typing import TYPE_CHECKING

import plotly.graph_objects as go

from dashboards.components.palette import COMPUTE, INK, PAGE, SEVERITIES
from dashboards.figures.style import LEGEND_ABOVE, duration_ticks, escaped, figure, share_ticks
from gapfinder.compare.metrics import Unit
from gapfinder.compare.values import format_value
from gapfinder.explanations import Severity
from gapfinder.render.words import short_commit
from gapfinder.units import format_written_moment

if TYPE_CHECKING:
    from collections.abc import Mapping

    from dashboards.components.palette import Theme
    from gapfinder.compare.history import Point, Trend

_HIGH = 340
_FEW = 24


def trend_figure(trend: Trend, *, names: Mapping[int, str], theme: Theme) -> go.Figure:
    """Return the metric run by run: accepted ones filled, changes of level as upright lines.

    Args:
        trend: what is shown.
        names: what a run is called, by its number; others are called by their label.
        theme: light or dark.
    """
    made = figure(theme=theme, height=_HIGH)
    measured = [(place, point) for place, point in enumerate(trend.points) if point.value is not None]
    made.add_trace(
        go.Scatter(
            mode="lines",
            x=list(range(len(trend.points))),
            y=[point.value for point in trend.points],  # a run that could not measure it is a gap in the line
            connectgaps=False,
            line={"color": COMPUTE.color(theme), "width": 1.5},
            hoverinfo="skip",
            showlegend=False,
        )
    )
    for name, is_accepted, fill in (
        ("accepted", True, COMPUTE.color(theme)),
        ("not accepted", False, PAGE.color(theme)),
    ):
        mine = [(place, point) for place, point in measured if point.run.accepted is is_accepted]
        made.add_trace(
            go.Scatter(
                mode="markers",
                name=name,
                x=[place for place, _ in mine],
                y=[point.value for _, point in mine],
                text=[escaped(_words(trend, point, names)) for _, point in mine],
                hovertemplate="%{text}<extra></extra>",
                marker={"size": 9, "color": fill, "line": {"width": 1.5, "color": COMPUTE.color(theme)}},
            )
        )
    _add_changes(made, trend, theme=theme)
    _add_axes(made, trend, [point.value for _, point in measured if point.value is not None])
    return made


def _words(trend: Trend, point: Point, names: Mapping[int, str]) -> str:
    run = point.run
    name = names.get(run.id, run.label or "")
    value = "" if point.value is None else format_value(trend.metric, point.value)
    commit = short_commit(run.git_commit)
    return ", ".join(filter(None, (f"run {run.id}: {value}", name, format_written_moment(run.created), commit)))


def _add_changes(made: go.Figure, trend: Trend, *, theme: Theme) -> None:
    for place, point in enumerate(trend.points):
        change = point.change
        if change is not None:
            is_worse = (change.after > change.before) is not trend.metric.higher_is_better
            color = SEVERITIES[Severity.CRITICAL].color(theme) if is_worse else INK.color(theme)
            words = f"{'worse' if is_worse else 'better'} from run {point.run.id}"
            made.add_vline(
                x=place - 0.5,
                line={"color": color, "dash": "dash", "width": 1.5},
                annotation={
                    "text": words,
                    "font": {"color": color, "size": 12},
                    "yanchor": "bottom",
                    "yref": "paper",
                    "y": 1,
                },
            )


def _add_axes(made: go.Figure, trend: Trend, values: list[float]) -> None:
    count = len(trend.points)
    every = max(count // _FEW, 1)
    shown = range(0, count, every)
    made.update_xaxes(
        title_text="run",
        tickvals=list(shown),
        ticktext=[str(trend.points[place].run.id) for place in shown],
        range=[-0.5, max(count, 2) - 0.5],
        showgrid=False,
    )
    least, most = min(values, default=0.0), max(values, default=1.0)
    if trend.metric.unit is Unit.RATIO:
        margin = max((most - least) / 10, 0.01)
        ticks = share_ticks(least - margin, most + margin)
    else:
        margin = max((most - least) / 10, most / 100, 1)
        ticks = duration_ticks(round(most + margin), least_ns=max(round(least - margin), 0))
    made.update_yaxes(range=[least - margin, most + margin], showgrid=True, **ticks)
    made.update_layout(showlegend=True, legend=LEGEND_ABOVE | {"x": 1, "xanchor": "right"}, margin_t=40)
