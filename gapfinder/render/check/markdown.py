"""A check's report for a pull request or a job's summary page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.render.check.sections import headline, sections
from gapfinder.render.markdown import escape

if TYPE_CHECKING:
    from gapfinder.compare.verdict import Verdict


def render_check_markdown(verdict: Verdict) -> str:
    """Return the report as Markdown in which no name can be markup."""
    blocks = [f"## gapfinder check: {escape(headline(verdict))}"]
    for title, sentences in sections(verdict):
        blocks += [f"### {escape(title)}", "\n".join(f"- {escape(sentence)}" for sentence in sentences)]
    return "\n\n".join(blocks) + "\n"
