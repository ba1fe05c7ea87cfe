"""A choice of what a page shows, as links: it is part of the address, so it can be shared."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import dcc, html

from dashboards.components.notices import text
from dashboards.components.spoken import current, labelled

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dash.development.base_component import Component


def tabs(label: str, choices: Iterable[tuple[str, str, bool]]) -> Component:
    """Return links side by side; each choice is (words, address, whether it is shown)."""
    items = [
        current(html.Li(dcc.Link(text(words), href=href, className="current" if is_shown else "")), is_current=is_shown)
        for words, href, is_shown in choices
    ]
    return labelled(html.Ul(items, className="tabs"), label)
