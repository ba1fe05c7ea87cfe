"""Reads from a report's own bytes which nsys wrote it.

A report starts with a magic line and ends with a table of its sections: protobuf messages of name, offset and size,
then the table's own offset (8 bytes, little-endian), 3 bytes and "[END]". The section "UI Data" is a protobuf message
that holds the versions. Source: the bytes of reports written by nsys 2022.4.2; what looks otherwise has none known.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, BinaryIO

from gapfinder.capture.nsys import version_key

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

REPORT_MAGIC = b"NVIDIA Tegra Profiler Report"
_END = b"[END]"
_TRAILER_BYTES = 8 + 3 + len(_END)
_LARGEST_PART = 1 << 22
_SECTION_FIELD, _NAME_FIELD, _OFFSET_FIELD, _SIZE_FIELD = 1, 1, 2, 3
_VERSION_FIELDS = (6, 7, 21)
_VERSION = re.compile(rb"(\d{4}(?:\.\d+){2,3})(?:-\w+)?")
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


def report_version(path: Path) -> str | None:
    """Return the newest nsys version that had a hand in the report; None where its bytes do not tell."""
    with path.open("rb") as file:
        if file.read(len(REPORT_MAGIC)) != REPORT_MAGIC:
            return None
        try:
            return _newest(_section(file, b"UI Data"))
        except (IndexError, ValueError):
            return None


def _newest(details: bytes) -> str | None:
    texts = (value for number, value in _fields(details) if number in _VERSION_FIELDS and isinstance(value, bytes))
    versions = [match[1].decode() for match in map(_VERSION.fullmatch, texts) if match]
    return max(versions, key=version_key, default=None)


def _section(file: BinaryIO, name: bytes) -> bytes:
    size = file.seek(0, os.SEEK_END)
    table_end = size - _TRAILER_BYTES
    trailer = _part(file, table_end, _TRAILER_BYTES)
    if not trailer.endswith(_END):
        raise ValueError("no table of sections")
    table_start = int.from_bytes(trailer[:8], "little")
    for number, section in _fields(_part(file, table_start, table_end - table_start)):
        if number != _SECTION_FIELD or not isinstance(section, bytes):
            continue
        entry = dict(_fields(section))
        offset, length = entry.get(_OFFSET_FIELD), entry.get(_SIZE_FIELD)
        if entry.get(_NAME_FIELD) == name and isinstance(offset, int) and isinstance(length, int):
            return _part(file, offset, length)
    raise ValueError("no such section")


def _part(file: BinaryIO, start: int, length: int) -> bytes:
    if start < 0 or not 0 < length <= _LARGEST_PART:
        raise ValueError("a part outside the file, or larger than such a part is")
    file.seek(start)
    return file.read(length)


def _fields(message: bytes) -> Iterator[tuple[int, int | bytes]]:
    """Yield (field number, value) of a protobuf message; raises IndexError or ValueError where it is none."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        kind = key & 7
        if kind == _VARINT:
            value, at = _varint(message, at)
            yield key >> 3, value
            continue
        if kind == _BYTES:
            length, at = _varint(message, at)
        elif kind in (_FIXED64, _FIXED32):
            length = 8 if kind == _FIXED64 else 4
        else:
            raise ValueError("not a protobuf message")
        if at + length > len(message):
            raise ValueError("a field longer than its message")
        yield key >> 3, message[at : at + length]
        at += length


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:  # noqa: PLR2004 (the highest bit says that more follows)
            return value, at
