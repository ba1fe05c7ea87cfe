"""Legends and chips: a colour with its pattern, and what it stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dash import html

from dashboards.components.notices import text
from dashboards.components.palette import PARTS, SEVERITIES, Pattern, cause_paint
from gapfinder.render.words import cause_words

if TYPE_CHECKING:
    from collections.abc import Iterable

    from dash.development.base_component import Component

    from dashboards.components.palette import Paint, Theme
    from gapfinder.explanations import Cause, Severity
    from gapfinder.render.parts import Part

_CLASSES = {pattern: f"swatch pattern-{pattern.name.lower()}" for pattern in Pattern}


def part_legend(parts: Iterable[Part], *, theme: Theme) -> Component:
    """Return what the parts of a budget look like and mean."""
    items = [
        html.Li(
            [_swatch(PARTS[part.key], theme=theme, is_blank=part.key == "idle"), part.label, html.Small(part.meaning)]
        )
        for part in parts
    ]
    return html.Ul(items, className="legend")


def cause_chip(cause: Cause, *, theme: Theme) -> Component:
    """Return a cause as words beside its colour."""
    return html.Span([_swatch(cause_paint(cause), theme=theme), cause_words(cause)], className="chip")


def severity_chip(severity: Severity, *, theme: Theme) -> Component:
    """Return a severity as a word in its colour."""
    return html.Span(text(severity.value), className="severity", style={"--tone": SEVERITIES[severity].color(theme)})


def _swatch(paint: Paint, *, theme: Theme, is_blank: bool = False) -> Component:
    name = _CLASSES[paint.pattern] + (" blank" if is_blank else "")
    return html.Span(className=name, style={"--tone": paint.color(theme)})
