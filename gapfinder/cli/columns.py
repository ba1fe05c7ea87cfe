"""Lays out cells in columns of plain text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence


def in_columns(rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Yield a line for each row, all of the same number of cells: the first column to the left, the others right."""
    grid = list(rows)
    widths = [max(map(len, column)) for column in zip(*grid, strict=True)]
    for first, *others in grid:
        cells = [first.ljust(widths[0]), *(cell.rjust(width) for cell, width in zip(others, widths[1:], strict=True))]
        yield "  ".join(cells).rstrip()
