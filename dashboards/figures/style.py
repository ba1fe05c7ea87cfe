"""What all figures have in common: no background of their own, quiet axes, and names that can be no markup."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import plotly.graph_objects as go

from dashboards.components.palette import BLANK, INK, LINE, MARK, PAGE, QUIET
from gapfinder.errors import visible

if TYPE_CHECKING:
    from dashboards.components.palette import Paint, Theme

_FONT = "system-ui, sans-serif"
_CLEAR = "rgba(0,0,0,0)"


def escaped(text: str) -> str:
    """Return a text from anywhere as Plotly shows it whole: its own markup is made of <, > and &."""
    return html.escape(visible(text), quote=False)


def figure(*, theme: Theme, height: int) -> go.Figure:
    """Return an empty figure of a theme, `height` pixels high."""
    axis = {
        "gridcolor": LINE.color(theme),
        "linecolor": LINE.color(theme),
        "zerolinecolor": LINE.color(theme),
        "tickfont": {"color": INK.color(theme), "size": 12},
        "title": {"font": {"color": QUIET.color(theme), "size": 12}},
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
