"""The page of profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

if TYPE_CHECKING:
    from dash import Dash
    from dash.development.base_component import Component

    from dashboards.components.palette import Theme
    from dashboards.ids import Asked
    from dashboards.view import View


def layout(view: View, asked: Asked, *, theme: Theme) -> Component:
    """Return the page."""
    return html.H1("Profiles")


def register(app: Dash, view: View) -> None:
    """Add its callbacks."""
