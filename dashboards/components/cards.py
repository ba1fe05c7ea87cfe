"""Cards: one number each, with what it is and where it is worst."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from dashboards.components.notices import text

if TYPE_CHECKING:
    from dash.development.base_component import Component


def card(title: str, value: str, detail: str = "") -> Component:
    """Return a number under its title, with a line of detail."""
    return html.Div(
        [
            html.Dt(text(title)),
            html.Dd(text(value), className="value"),
            *([html.Dd(text(detail), className="detail")] if detail else []),
        ],
        className="card",
    )


def cards(*items: Component | None) -> Component:
    """Return cards side by side, as many in a row as fit."""
    return html.Dl([item for item in items if item is not None], className="cards")
