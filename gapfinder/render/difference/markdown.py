"""A comparison for a pull request: GitHub-flavoured Markdown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.render.difference.tables import difference_tables
from gapfinder.render.difference.words import difference_verdict, title_words
from gapfinder.render.markdown import escape, table_markdown

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.compare.difference import Difference

_LANES, _ROWS = 16, 5


def render_difference_markdown(difference: Difference) -> str:
    """Return the comparison as Markdown in which no name from a profile can be markup."""
    return "\n\n".join(_blocks(difference)) + "\n"


def _blocks(difference: Difference) -> Iterator[str]:
    yield f"## gapfinder: {escape(title_words(difference))}"
    yield escape(difference_verdict(difference))
    for table in difference_tables(difference, lanes=_LANES, rows=_ROWS):
        yield f"### {escape(table.title)}"
        yield table_markdown(table)
        yield escape(table.caption)
    if difference.notes:
        yield "### Worth knowing"
        yield "\n".join(f"- {escape(note)}" for note in difference.notes)
