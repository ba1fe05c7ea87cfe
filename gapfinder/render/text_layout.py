"""Lays out paragraphs and tables as lines of plain text, coloured on request."""

from __future__ import annotations

import io
import textwrap
from itertools import compress
from typing import TYPE_CHECKING

from gapfinder.errors import visible
from gapfinder.render.table import Kind
from gapfinder.render.words import ELLIPSIS, NO_BREAK, short_name, unbroken

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gapfinder.render.table import Column, Table

INDENT = "    "
TITLE, HEADING, CAPTION, PLAIN = "bold", "bold cyan", "dim", ""
_NARROWEST_LABEL = 8
Line = tuple[str, str]


def joined(lines: Iterable[Line], *, width: int, color: bool) -> str:
    """Return lines as one text; with `color`, the same text with terminal colours."""
    return _coloured(lines, width) if color else "".join(f"{line}\n" for line, _ in lines)


def paragraph(text: str, width: int, *, first: str = "", rest: str = "", style: str = PLAIN) -> Iterator[Line]:
    """Wrap at spaces, but not between a number and its unit."""
    whole = unbroken(visible(text))
    wrapped = textwrap.wrap(whole, width, initial_indent=first, subsequent_indent=rest, break_on_hyphens=False)
    for line in wrapped:
        yield line.replace(NO_BREAK, " "), style


def table_lines(table: Table, width: int) -> Iterator[Line]:
    """Lay out a table; several columns of names go on a line of their own below each row, and so do remarks."""
    yield table.title, HEADING
    yield from paragraph(table.caption, width, style=CAPTION)
    if not table.rows:
        return
    kinds = [column.kind for column in table.columns]
    is_note = [kind is Kind.NOTE for kind in kinds]
    is_apart = [kind is Kind.NAME and kinds.count(Kind.NAME) > 1 for kind in kinds]
    is_beside = [not (note or apart) for note, apart in zip(is_note, is_apart, strict=True)]
    columns = list(compress(table.columns, is_beside))
    cells = [[_cell(*item) for item in zip(row, table.columns, strict=True)] for row in table.rows]
    headers = _header_lines(columns)
    aligned = _align(columns, [*headers, *(list(compress(row, is_beside)) for row in cells)], width)
    for line in aligned[: len(headers)]:
        yield line, CAPTION
    if any(is_apart):
        yield _names_line([column.header for column in compress(table.columns, is_apart)], width), CAPTION
    for row, line in zip(cells, aligned[len(headers) :], strict=True):
        yield line, PLAIN
        if any(is_apart):
            yield _names_line(list(compress(row, is_apart)), width), CAPTION
        for note in filter(None, compress(row, is_note)):
            yield from paragraph(note, width, first=INDENT, rest=INDENT)


def _cell(text: str, column: Column) -> str:
    return visible(short_name(text) if column.kind is Kind.NAME else text)


def _names_line(names: list[str], width: int) -> str:
    """Return "a → b", each given the same room."""
    arrow = " → "
    room = (width - len(INDENT) - len(arrow) * (len(names) - 1)) // len(names)
    return INDENT + arrow.join(_shorten(name, room) for name in names)


def _header_lines(columns: list[Column]) -> list[list[str]]:
    """Return the headings word by word, the last word on the last line."""
    words = [column.header.split() for column in columns]
    height = max(map(len, words))
    return [[([""] * (height - len(w)) + w)[row] for w in words] for row in range(height)]


def _align(columns: list[Column], grid: list[list[str]], width: int) -> list[str]:
    """Return rows of cells as lines.

    What is too wide loses space between columns, then free text, and at last the space before units.
    """
    gap, widths = _fit(columns, grid, width)
    if _total(widths, gap) > width:
        grid = [[_squeezed(*item) for item in zip(row, columns, strict=True)] for row in grid]
        gap, widths = _fit(columns, grid, width)
    return [(" " * gap).join(_pad(*item) for item in zip(row, columns, widths, strict=True)).rstrip() for row in grid]


def _fit(columns: list[Column], grid: list[list[str]], width: int) -> tuple[int, list[int]]:
    """Return the space between columns and each column's width."""
    widths = [max(map(len, cells)) for cells in zip(*grid, strict=True)]
    gap = 2 if _total(widths, 2) <= width else 1
    for index, column in enumerate(columns):
        excess = _total(widths, gap) - width
        if column.kind in (Kind.LABEL, Kind.NAME) and excess > 0:
            widths[index] = max(widths[index] - excess, _NARROWEST_LABEL)
    return gap, widths


def _total(widths: list[int], gap: int) -> int:
    return sum(widths) + gap * (len(widths) - 1)


def _squeezed(text: str, column: Column) -> str:
    return text.replace(" ", "") if column.kind is Kind.NUMBER else text


def _pad(text: str, column: Column, width: int) -> str:
    return text.rjust(width) if column.kind is Kind.NUMBER else _shorten(text, width).ljust(width)


def _shorten(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + ELLIPSIS


def _coloured(lines: Iterable[Line], width: int) -> str:
    from rich.console import Console
    from rich.text import Text

    # Told no width, rich asks the terminal, which may say 0, and then prints nothing.
    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        color_system="standard",
        no_color=False,
        legacy_windows=False,
        width=width,
    )
    with console.capture() as capture:
        for line, style in lines:
            console.print(Text(line, style), soft_wrap=True)
    return capture.get()
