"""What all figures have in common: no background of their own, quiet axes, and names that can be no markup."""

from __future__ import annotations

import html
from math import ceil, floor, log10
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from dashboards.components.palette import BLANK, INK, LINE, MARK, PAGE, QUIET
from gapfinder.errors import visible
from gapfinder.render.words import unbroken
from gapfinder.units import format_duration, format_share

if TYPE_CHECKING:
    from dashboards.components.palette import Paint, Theme

_FONT = "system-ui, sans-serif"
_CLEAR = "rgba(0,0,0,0)"
LEGEND_ABOVE = {"orientation": "h", "y": 1, "yanchor": "bottom", "x": 0, "traceorder": "normal"}
"""A legend in one line over the figure; the figure needs a margin of 30 pixels there."""


def escaped(text: str) -> str:
    """Return a text from anywhere as Plotly shows it whole: its own markup is made of <, > and &."""
    return html.escape(visible(text), quote=False)


def figure(*, theme: Theme, height: int) -> go.Figure:
    """Return an empty figure of a theme, `height` pixels high."""
    axis = {
        "gridcolor": LINE.color(theme),
        "linecolor": LINE.color(theme),
        "tickfont": {"color": INK.color(theme), "size": 12},
        "title": {"font": {"color": QUIET.color(theme), "size": 12}},
        "zeroline": False,
        "automargin": True,
        "fixedrange": True,
    }
    return go.Figure(
        layout={
            "template": None,
            "height": height,
            "paper_bgcolor": _CLEAR,
            "plot_bgcolor": _CLEAR,
            "font": {"family": _FONT, "color": INK.color(theme), "size": 13},
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8, "pad": 4},
            "xaxis": axis,
            "yaxis": axis | {"showgrid": False},
            "showlegend": False,
            "bargap": 0.3,
            "hoverlabel": {
                "bgcolor": PAGE.color(theme),
                "bordercolor": LINE.color(theme),
                "font": {"family": _FONT, "color": INK.color(theme)},
                "align": "left",
            },
            "hovermode": "closest",
            "dragmode": False,
        }
    )


def marker(paint: Paint, *, theme: Theme) -> dict[str, object]:
    """Return a bar's colour and pattern, with an outline where the colour is that of a blank."""
    pattern = {
        "shape": paint.pattern.value,
        "fgcolor": MARK.color(theme),
        "fillmode": "overlay",
        "fgopacity": 0.55,
        "size": 7,
        "solidity": 0.25,
    }
    outline = {"color": LINE.color(theme) if paint is BLANK else PAGE.color(theme), "width": 1}
    return {"color": paint.color(theme), "pattern": pattern, "line": outline}


SHARES: dict[str, object] = {
    "tickvals": [place / 5 for place in range(6)],
    "ticktext": [f"{20 * place}\N{NO-BREAK SPACE}%" for place in range(6)],
}
"""Ticks of an axis of shares from nothing to all."""


def duration_ticks(most_ns: int, *, least_ns: int = 0) -> dict[str, list[float] | list[str]]:
    """Return an axis' ticks from the least to the most, at most six of them, at round durations."""
    span = max(most_ns - least_ns, 1)
    step = max(_step(span), 1)
    first = -(-least_ns // step)
    places = [step * (first + number) for number in range(6) if step * (first + number) <= most_ns]
    return {"tickvals": list(places), "ticktext": [format_duration(round(place)) for place in places]}


def share_ticks(least: float, most: float) -> dict[str, list[float] | list[str]]:
    """Return an axis' ticks from the least to the most share, at most six of them, at round percentages."""
    least, most = max(least, 0.0), min(most, 1.0)
    step = _step(most - least)
    places = [round(number * step, 9) for number in range(ceil(least / step), floor(most / step) + 1)]
    return {"tickvals": places, "ticktext": [unbroken(format_share(place)) for place in places]}


def _step(span: float) -> float:
    """Return a round distance that fits into the span five times at most."""
    size = 10.0 ** floor(log10(span))
    return next(size * factor for factor in (0.1, 0.2, 0.5, 1, 2, 5) if span <= 5 * size * factor)
