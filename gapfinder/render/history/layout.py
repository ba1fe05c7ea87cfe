"""Lays out a sheet in each format."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.render.json_text import encode
from gapfinder.render.markdown import escape, table_markdown
from gapfinder.render.text_layout import PLAIN, TITLE, joined, paragraph, table_lines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.render.history.sheets import Sheet
    from gapfinder.render.text_layout import Line

SHEET_VERSION = 1


def render_sheet(sheet: Sheet, *, form: str, width: int = 100, color: bool = False) -> str:
    """Return the sheet as "text", "json" or "markdown"; width and colours are the text's."""
    if form == "json":
        return encode({"schema_version": SHEET_VERSION, **sheet.document})
    if form == "markdown":
        return "\n\n".join(_markdown(sheet)) + "\n"
    return joined(_lines(sheet, width), width=width, color=color)


def _lines(sheet: Sheet, width: int) -> Iterator[Line]:
    for text in sheet.paragraphs:
        yield from paragraph(text, width, style=TITLE)
    for table in sheet.tables:
        if table.rows:
            yield PLAIN, PLAIN
            yield from table_lines(table, width)


def _markdown(sheet: Sheet) -> Iterator[str]:
    yield from map(escape, sheet.paragraphs)
    for table in sheet.tables:
        if table.rows:
            yield f"### {escape(table.title)}"
            yield table_markdown(table)
            yield escape(table.caption)
