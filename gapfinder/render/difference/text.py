"""A comparison for a terminal: plain text of a fixed width, coloured on request."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.render.difference.tables import difference_tables
from gapfinder.render.difference.words import difference_verdict, title_words
from gapfinder.render.text_layout import CAPTION, HEADING, PLAIN, TITLE, joined, paragraph, table_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.compare.difference import Difference
    from gapfinder.render.text_layout import Line

_LANES, _ROWS = 16, 10


def render_difference_text(difference: Difference, *, width: int = 100, color: bool = False) -> str:
    """Return the comparison as text; with `color`, the same text with terminal colours."""
    return joined(_lines(difference, width), width=width, color=color)


def _lines(difference: Difference, width: int) -> Iterator[Line]:
    yield from paragraph(title_words(difference), width, style=CAPTION)
    yield PLAIN, PLAIN
    yield from paragraph(difference_verdict(difference), width, style=TITLE)
    for table in difference_tables(difference, lanes=_LANES, rows=_ROWS):
        yield PLAIN, PLAIN
        yield from table_lines(table, width)
    if difference.notes:
        yield PLAIN, PLAIN
        yield "Worth knowing", HEADING
        for note in difference.notes:
            yield from paragraph(note, width, first="- ", rest="  ")
