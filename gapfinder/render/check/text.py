"""A check's report for a terminal or a log."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from gapfinder.errors import visible
from gapfinder.render.check.sections import headline, sections
from gapfinder.render.words import NO_BREAK, unbroken

if TYPE_CHECKING:
    from gapfinder.compare.verdict import Verdict

_WIDTH = 100


def render_check_text(verdict: Verdict) -> str:
    """Return the report as plain text, 100 columns wide."""
    lines = [headline(verdict)]
    for title, sentences in sections(verdict):
        lines += ["", title]
        lines += [_item(sentence) for sentence in sentences]
    return "\n".join(lines) + "\n"


def _item(sentence: str) -> str:
    wrapped = textwrap.fill(
        unbroken(visible(sentence)),
        _WIDTH,
        initial_indent="- ",
        subsequent_indent="  ",
        break_long_words=False,
        break_on_hyphens=False,
    )
    return wrapped.replace(NO_BREAK, " ")
