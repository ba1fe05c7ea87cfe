"""Comparisons: each renderer turns one `Difference` into one string, the same bytes for the same input."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.render.difference.json_format import render_difference_json
from gapfinder.render.difference.markdown import render_difference_markdown
from gapfinder.render.difference.page import render_difference_html
from gapfinder.render.difference.text import render_difference_text
from gapfinder.render.difference.words import difference_summary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gapfinder.compare.difference import Difference

DIFFERENCE_RENDERERS: Mapping[str, Callable[[Difference], str]] = {
    "text": render_difference_text,
    "markdown": render_difference_markdown,
    "json": render_difference_json,
    "html": render_difference_html,
}

__all__ = [
    "DIFFERENCE_RENDERERS",
    "difference_summary",
    "render_difference_html",
    "render_difference_json",
    "render_difference_markdown",
    "render_difference_text",
]
