"""Reads integer columns of an ordinary SQLite table straight from its B-tree pages, vectorised with numpy.

The layout is that of https://www.sqlite.org/fileformat2.html, sections 1.6 (B-tree pages) and 2.1 (records). Whatever
is unusual is refused with `UnsupportedError`; the caller then asks SQLite itself, which takes ten times as long.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.load.btree import (
    SMALLEST_CELL,
    SMALLEST_ROW,
    TABLE_LEAF,
    Integers,
    Octets,
    PageFile,
    UnsupportedError,
    find_leaves,
    read_pages,
)

if TYPE_CHECKING:
    from collections.abc import Sequence
    from io import FileIO

_LEAF_HEADER = 8
_BATCH_BYTES = 1 << 20
_WINDOW = 32
_SPARE = 1.05
_LONG_VARINT = 0x80
_MAX_VARINT = 3

_NULL, _FLOAT, _ONE, _BYTES = 0, 7, 9, 12
_SIZES: Integers = np.array(
    [0, 1, 2, 3, 4, 6, 8, 8, 0, 0, 0, 0, *((n - _BYTES) // 2 for n in range(_BYTES, _LONG_VARINT))], np.int64
)
"""Bytes that a value takes, by its serial type."""


@dataclass(frozen=True, kw_only=True, slots=True)
class IntegerColumn:
    """A wanted column: its place in the record and the value that stands for NULL."""

    index: int
    null: int


class _Batch:
    """Some pages in one buffer that can be gathered from at any byte."""

    def __init__(self, pages: int, page_size: int) -> None:
        size = pages * page_size
        self.octets = np.zeros(size + 1 + _WINDOW, np.uint8)
        self._pairs = np.ndarray(size, "V2", self.octets, strides=(1,))
        self._windows = np.ndarray(size + 1, f"V{_WINDOW}", self.octets, strides=(1,))

    def pairs(self, at: Integers) -> Integers:
        """Return the big-endian 16-bit numbers at these places."""
        return self._pairs[at].view(">u2").astype(np.int64)

    def windows(self, at: Integers) -> Octets:
        """Return one row of bytes for each of these places."""
        return self._windows[at].view(np.uint8).reshape(len(at), _WINDOW)


class _Cursor:
    """One place in each record, all moved together; one gather serves until they move by different distances."""

    def __init__(self, batch: _Batch, at: Integers) -> None:
        self._batch, self._anchor, self._offset = batch, at, 0
        self._window: Octets | None = None

    @property
    def at(self) -> Integers:
        """The places, as indices into the batch's bytes."""
        return self._anchor + self._offset

    def skip(self, size: Octets | Integers) -> None:
        """Move each place by its size, or all by the only one."""
        if size.min() == size.max():
            self._offset += int(size[0])
        else:
            self._anchor, self._offset, self._window = self.at + size, 0, None

    def word(self) -> Integers:
        """Return the big-endian signed 64-bit numbers at the places."""
        return self._bytes(8).view(">i8")[:, 0].astype(np.int64)

    def skip_varint(self) -> Octets:
        """Move behind the varints at the places and return their lengths, 1 to 9 bytes."""
        stop = ~self._bytes(8).view("<u8")[:, 0] & np.uint64(0x8080808080808080)
        below_first_stop = (stop & (~stop + np.uint64(1))) - np.uint64(1)
        length = ((np.bitwise_count(below_first_stop) >> 3) + 1).astype(np.uint8)
        self.skip(length)
        return length

    def read_varint(self) -> Octets | Integers:
        """Return the varints at the places and move behind them; long ones are refused."""
        octets = self._bytes(_MAX_VARINT)
        first = octets[:, 0]
        if first.max() < _LONG_VARINT:
            self._offset += 1
            return first
        length = self.skip_varint()
        if length.max() > _MAX_VARINT:
            raise UnsupportedError("a record or value of 2 MiB or more")
        value = (first & 0x7F).astype(np.int64)
        for k in range(1, _MAX_VARINT):
            value = np.where(length > k, value << 7 | (octets[:, k] & 0x7F), value)
        return value

    def _bytes(self, count: int) -> Octets:
        if self._window is None or self._offset + count > _WINDOW:
            self._anchor, self._offset = self.at, 0
            self._window = self._batch.windows(self._anchor)
        return self._window[:, self._offset : self._offset + count]


class _Columns:
    """Equally long arrays that grow to the estimated number of rows at once, so that hardly anything is copied."""

    def __init__(self, count: int) -> None:
        self._arrays = [np.empty(0, np.int64) for _ in range(count)]
        self._rows = 0

    def append(self, values: Sequence[Integers], *, share: float) -> None:
        """Add rows; `share` is how much of the whole has been read with them."""
        first, self._rows = self._rows, self._rows + len(values[0])
        for k, added in enumerate(values):
            if self._rows > len(self._arrays[k]):
                grown = np.empty(int(self._rows / share * _SPARE) + 1, np.int64)
                grown[:first] = self._arrays[k][:first]
                self._arrays[k] = grown
            self._arrays[k][first : self._rows] = added

    def arrays(self) -> list[Integers]:
        """Return the filled part of each array."""
        return [array[: self._rows] for array in self._arrays]


def read_integers(
    file: PageFile, *, root: int, columns: Sequence[IntegerColumn], leaves: Integers | None = None
) -> list[Integers]:
    """Return the columns' values in the table's order; with `leaves`, of the rows on these pages only.

    Raises:
        UnsupportedError: for anything but whole, local records with integers or NULL in these columns.
    """
    per_batch = max(1, _BATCH_BYTES // file.page_size)
    batch = _Batch(per_batch, file.page_size)
    result = _Columns(len(columns))
    with file.path.open("rb", buffering=0) as stream:
        leaves = find_leaves(file, stream, root=root) if leaves is None else leaves
        for first in range(0, len(leaves), per_batch):
            numbers = leaves[first : first + per_batch]
            _read_batch(file, stream, numbers, batch.octets.data)
            try:
                values = _decode(batch, len(numbers), file, columns)
            except IndexError as error:
                raise UnsupportedError("a value outside its page") from error
            result.append(values, share=min(1, (first + per_batch) / len(leaves)))
    return result.arrays()


def _read_batch(file: PageFile, stream: FileIO, numbers: Integers, into: memoryview) -> None:
    for run in np.split(numbers, np.flatnonzero(np.diff(numbers) != 1) + 1):
        size = len(run) * file.page_size
        read_pages(file, stream, first=int(run[0]), into=into[:size])
        into = into[size:]


def _decode(batch: _Batch, pages: int, file: PageFile, columns: Sequence[IntegerColumn]) -> list[Integers]:
    heads = batch.octets[: pages * file.page_size].reshape(pages, file.page_size)[:, :_LEAF_HEADER]
    counts = heads[:, 3].astype(np.int64) << 8 | heads[:, 4]
    if (heads[:, 0] != TABLE_LEAF).any() or counts.max() > (file.usable - _LEAF_HEADER) // SMALLEST_ROW:
        raise UnsupportedError("not a leaf page of a table")
    total = int(counts.sum())
    if not total:
        return [np.empty(0, np.int64) for _ in columns]
    bases = np.arange(pages, dtype=np.int64) * file.page_size
    before = np.cumsum(counts) - counts
    pointers = batch.pairs(np.repeat(bases + _LEAF_HEADER - 2 * before, counts) + np.arange(0, 2 * total, 2))
    base = np.repeat(bases, counts)
    if (pointers < np.repeat(_LEAF_HEADER + 2 * counts, counts)).any() or pointers.max() > file.usable - SMALLEST_CELL:
        raise UnsupportedError("a cell outside its page")
    cursor = _Cursor(batch, pointers + base)
    payload = cursor.read_varint()
    cursor.skip_varint()
    end = cursor.at + _local(payload, file.usable)
    if (end > base + file.usable).any():
        raise UnsupportedError("a record outside its page")
    return _decode_records(batch, cursor, end, columns)


def _local(payload: Octets | Integers, usable: int) -> Octets | Integers:
    longest = usable - 35
    if payload.max() <= longest:
        return payload
    shortest = (usable - 12) * 32 // 255 - 23
    spill = shortest + (payload - shortest) % (usable - 4)
    return np.where(payload <= longest, payload, np.where(spill <= longest, spill, shortest))


def _decode_records(batch: _Batch, cursor: _Cursor, end: Integers, columns: Sequence[IntegerColumn]) -> list[Integers]:
    start = cursor.at
    header_end = start + cursor.read_varint()
    body = _Cursor(batch, header_end)
    wanted = {column.index: column.null for column in columns}
    values = {}
    for index in range(max(wanted) + 1):
        serial = cursor.read_varint()
        if serial.min() == serial.max():
            serial = serial[:1]
        size = _sizes(serial)
        if index in wanted:
            values[index] = _integers(body.word(), serial, size, null=wanted[index])
        body.skip(size)
    if (cursor.at > header_end).any() or (body.at > end).any():
        raise UnsupportedError("a record that is shorter than its table's columns")
    return [values[column.index] for column in columns]


def _integers(word: Integers, serial: Octets | Integers, size: Integers, *, null: int) -> Integers:
    if serial.max() > _ONE or (serial == _FLOAT).any():
        raise UnsupportedError("not an integer")
    if size.min() > 0:
        word >>= 64 - 8 * size
        return word
    value = np.where(size == 0, serial == _ONE, word >> np.minimum(64 - 8 * size, 63))
    return np.where(serial == _NULL, null, value)


def _sizes(serial: Octets | Integers) -> Integers:
    if serial.dtype == np.uint8:
        return _SIZES[serial]
    return np.where(serial < _LONG_VARINT, _SIZES[np.minimum(serial, _LONG_VARINT - 1)], (serial - _BYTES) // 2)
