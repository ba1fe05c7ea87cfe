"""Finds the pages that hold the rows of a SQLite table.

Source: https://www.sqlite.org/fileformat2.html, section 1.6 (B-tree pages).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from io import FileIO
    from pathlib import Path

Integers = NDArray[np.int64]
Octets = NDArray[np.uint8]
Bools = NDArray[np.bool_]

TABLE_LEAF = 0x0D
SMALLEST_CELL = 4
SMALLEST_ROW = SMALLEST_CELL + 2
"""Least bytes a row takes: its cell and the pointer to it."""

_TABLE_INTERIOR = 0x05
_INTERIOR_HEADER = 12
_MAX_DEPTH = 20
_FIRST_ROOT = 2


class UnsupportedError(Exception):
    """The table holds something this reader leaves to SQLite; never leaves `gapfinder.load`."""


class DamagedError(UnsupportedError):
    """The pages do not form a tree, so that SQLite itself would read rows twice or without end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PageFile:
    """A database file as a row of pages: `usable` bytes of each `page_size` hold content."""

    path: Path
    page_size: int
    usable: int
    pages: int

    @property
    def size(self) -> int:
        """Bytes of all pages."""
        return self.pages * self.page_size


def read_pages(file: PageFile, stream: FileIO, *, first: int, into: memoryview) -> None:
    """Fill the buffer with the pages from `first` on (not mapped: a file cut meanwhile must not raise a signal)."""
    stream.seek((first - 1) * file.page_size)
    while len(into):
        count = stream.readinto(into)
        if not count:
            raise UnsupportedError("the file ends inside a page")
        into = into[count:]


def find_leaves(file: PageFile, stream: FileIO, *, root: int) -> Integers:
    """Return the numbers of a table's leaf pages in the order of its rows."""
    level = np.array([root], np.int64)
    seen = np.zeros(file.pages + 1, np.bool_)
    page = np.zeros(file.page_size, np.uint8)
    for _ in range(_MAX_DEPTH):
        if level.min() < _FIRST_ROOT or level.max() > file.pages:
            raise DamagedError("a page lies outside the file")
        if seen[level].any() or len(np.unique(level)) < len(level):
            raise DamagedError("a page is in two places")
        seen[level] = True
        below: list[Integers] = []
        room = file.pages
        for number in level.tolist():
            read_pages(file, stream, first=number, into=page.data)
            if page[0] == TABLE_LEAF and not below:
                return level
            below.append(_children(page, file.usable))
            room -= len(below[-1])
            if room < 0:
                raise DamagedError("it has more pages than the file")
        level = np.concatenate(below)
    raise DamagedError("its pages are nested too deeply")


def _children(page: Octets, usable: int) -> Integers:
    count = int(page[3]) << 8 | int(page[4])
    if page[0] != _TABLE_INTERIOR or _INTERIOR_HEADER + 2 * count > usable:
        raise UnsupportedError("not an interior page of a table")
    pointers = page[_INTERIOR_HEADER : _INTERIOR_HEADER + 2 * count].view(">u2").astype(np.int64)
    if count and (pointers.min() < _INTERIOR_HEADER + 2 * count or pointers.max() > usable - SMALLEST_CELL):
        raise UnsupportedError("a cell outside its page")
    left = page[pointers[:, None] + np.arange(4)].view(">u4").astype(np.int64).ravel()
    return np.append(left, page[8:12].view(">u4").astype(np.int64))
