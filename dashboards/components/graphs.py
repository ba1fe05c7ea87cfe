"""A Plotly figure on a page: no logo, no cloud, and words for those who do not see it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import dcc, html

from dashboards.components.spoken import labelled

if TYPE_CHECKING:
    from dash.development.base_component import Component
    from plotly.graph_objects import Figure

_CONFIG: dcc.Graph.Config = {
    "displaylogo": False,
    "showSendToCloud": False,
    "showEditInChartStudio": False,
    "displayModeBar": False,
    "responsive": True,
}


def graph(figure: Figure, *, name: str, label: str) -> Component:
    """Return the figure, which takes the width there is; `name` is its id, and `label` says what it shows."""
    height = f"{figure.layout.height}px"
    plot = dcc.Graph(id=name, figure=figure, config=_CONFIG, style={"height": height})
    # what is below does not jump when the figure is there
    return labelled(html.Div(plot, className="graph", role="img", style={"minHeight": height}), label)
