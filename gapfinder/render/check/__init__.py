"""Reports of the regression check: each renderer turns one `Verdict` into one string."""

from gapfinder.render.check.github import render_check_github
from gapfinder.render.check.json_format import render_check_json
from gapfinder.render.check.junit import render_check_junit
from gapfinder.render.check.markdown import render_check_markdown
from gapfinder.render.check.text import render_check_text

CHECK_RENDERERS = {
    "text": render_check_text,
    "json": render_check_json,
    "markdown": render_check_markdown,
    "junit": render_check_junit,
    "github": render_check_github,
}
"""Every kind of report, by the name that --format has for it."""

__all__ = [
    "CHECK_RENDERERS",
    "render_check_github",
    "render_check_json",
    "render_check_junit",
    "render_check_markdown",
    "render_check_text",
]
