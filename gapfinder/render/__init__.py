"""Reports: each renderer turns one `Analysis` into one string, the same bytes for the same input."""

from gapfinder.render.json_format import render_json
from gapfinder.render.markdown import render_markdown
from gapfinder.render.page import render_html
from gapfinder.render.text import render_text

__all__ = ["render_html", "render_json", "render_markdown", "render_text"]
