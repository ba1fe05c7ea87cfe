"""A check's report for a terminal or a log."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.render.check.sections import headline, sections
from gapfinder.render.text_layout import HEADING, PLAIN, TITLE, joined, paragraph

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.compare.verdict import Verdict
    from gapfinder.render.text_layout import Line


def render_check_text(verdict: Verdict, *, width: int = 100, color: bool = False) -> str:
    """Return the report as text; with `color`, the same text with terminal colours."""
    return joined(_lines(verdict, width), width=width, color=color)


def _lines(verdict: Verdict, width: int) -> Iterator[Line]:
    yield from paragraph(headline(verdict), width, style=TITLE)
    for title, sentences in sections(verdict):
        yield PLAIN, PLAIN
        yield title, HEADING
        for sentence in sentences:
            yield from paragraph(sentence, width, first="- ", rest="  ")
