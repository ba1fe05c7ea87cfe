"""Decodes what NCCL attaches to its NVTX ranges: communicator, bytes, peer and number of ranks."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.load.schema import NVTX, PAYLOAD_ENTRIES
from gapfinder.tables import PAYLOADS

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from gapfinder.load.btree import Integers
    from gapfinder.load.database import Database
    from gapfinder.load.schema_check import Value

# A blob starts with four little-endian 64-bit numbers: domain, schema, payload size, and one that is not needed.
# Source: nsys-ai's decoder and its fixtures, both made from reports of nsys 2026.
HEADER = struct.Struct("<4Q")
"""Stands before every payload."""

LONGEST_PAYLOAD = 4_096
"""Bytes; what is longer is none of NCCL's."""

_NOT_TOLD = -1
_COLUMNS = ("start", "end", "globalTid", "binaryData")

# NVTX_PAYLOAD_ENTRY_TYPE_*, of integers on 64-bit Linux, and the flags under which an entry is not the value itself
# (pointer, offsets, arrays). Source: nvtx3/nvToolsExtPayload.h.
_INTEGERS = {
    **dict.fromkeys((1, 11), "<i1"),
    **dict.fromkeys((2, 12), "<u1"),
    **dict.fromkeys((3, 13), "<i2"),
    **dict.fromkeys((4, 14), "<u2"),
    **dict.fromkeys((5, 15), "<i4"),
    **dict.fromkeys((6, 16), "<u4"),
    **dict.fromkeys((7, 9, 17), "<i8"),
    **dict.fromkeys((8, 10, 18, 22), "<u8"),
}
_INDIRECT = 0b111_1110

FIELDS = {
    "NCCL communicator ID": "communicator",
    "Message size [bytes]": "bytes",
    "Peer rank": "peer",
    "No. of ranks": "ranks",
}
"""The fields that are read, by the names NCCL gives them (src/include/nvtx_payload_schemas.h) in any schema."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One field of a schema: what it tells, numpy's type and where in the payload."""

    column: str
    dtype: str
    offset: int


def read_payloads(database: Database) -> tuple[pd.DataFrame, int]:
    """Return the frame PAYLOADS, and how many payloads of NVTX events could not be decoded."""
    if not all(database.has_column(NVTX, column) for column in _COLUMNS) or not database.has_rows(PAYLOAD_ENTRIES):
        return PAYLOADS.empty(), 0
    schemas = payload_schemas(database)
    rows, groups, unreadable = _grouped(database)
    columns = {column: np.full(len(rows), _NOT_TOLD, np.int64) for column in FIELDS.values()}
    decoded = np.zeros(len(rows), np.bool_)
    for header, (places, payloads) in groups.items():
        entries = fields_of(schemas, header)
        size = len(payloads[0])
        if entries is None or any(entry.offset + np.dtype(entry.dtype).itemsize > size for entry in entries):
            unreadable += len(places)
            continue
        table = np.frombuffer(b"".join(payloads), np.uint8).reshape(len(payloads), size)
        decoded[places] = bool(entries)
        for entry in entries:
            columns[entry.column][places] = _values(table, entry)
    table_columns = {name: rows[:, at][decoded] for at, name in enumerate(("start", "end", "thread"))}
    return PAYLOADS.frame(table_columns | {name: values[decoded] for name, values in columns.items()}), unreadable


def payload_schemas(database: Database) -> dict[int, dict[int, tuple[Entry, ...] | None]]:
    """Return the fields that are wanted by schema and domain; None where two processes mean different things by them.

    The table has no process column: rows of several processes stand side by side, and repeat.
    """
    found: dict[tuple[int, int], dict[int, set[Entry | None]]] = {}
    wanted = ("schemaId", "domainId", "idx", "flags", "type", "name", "offset")
    for schema, domain, place, flags, kind, name, offset in set(database.small_table(PAYLOAD_ENTRIES, wanted)):
        if isinstance(schema, int) and isinstance(domain, int) and isinstance(place, int):
            entry = _entry(place, flags=flags, kind=kind, name=name, offset=offset)
            found.setdefault((schema, domain), {}).setdefault(place, set()).add(entry)
    schemas: dict[int, dict[int, tuple[Entry, ...] | None]] = {}
    for (schema, domain), places in sorted(found.items()):
        is_clear = all(len(entries) == 1 for entries in places.values())
        fields = tuple(entry for entries in places.values() for entry in entries if entry is not None)
        schemas.setdefault(schema, {})[domain] = tuple(sorted(fields, key=_offset)) if is_clear else None
    return schemas


def _offset(entry: Entry) -> int:
    return entry.offset


def _entry(place: int, *, flags: Value, kind: Value, name: Value, offset: Value) -> Entry | None:
    """Return what a row of the table declares; None where it is not wanted or not a plain integer."""
    column = FIELDS.get(name.decode("utf-8", errors="replace")) if isinstance(name, bytes) else None
    dtype = _INTEGERS.get(kind) if isinstance(kind, int) else None
    start = 0 if offset is None and place == 0 else offset  # as nsys writes the first one
    is_direct = flags is None or (isinstance(flags, int) and not flags & _INDIRECT)
    if column is None or dtype is None or not is_direct or not isinstance(start, int) or start < 0:
        return None
    return Entry(column, dtype, start)


def _grouped(database: Database) -> tuple[Integers, dict[bytes, tuple[list[int], list[bytes]]], int]:
    """Return times and threads (n, 3), the rows and payloads of each header, and how many are no payloads at all."""
    times: list[tuple[int, int, int]] = []
    groups: dict[bytes, tuple[list[int], list[bytes]]] = {}
    unreadable = 0
    for start, end, thread, blob in database.rows(NVTX, (), _COLUMNS, present="binaryData"):
        if not isinstance(blob, bytes) or not isinstance(start, int) or not isinstance(thread, int):
            unreadable += 1
            continue
        if not 0 <= len(blob) - HEADER.size <= LONGEST_PAYLOAD:
            unreadable += 1
            continue
        payload = blob[HEADER.size :]
        header = blob[: HEADER.size] + len(payload).to_bytes(2, "little")
        places, payloads = groups.setdefault(header, ([], []))
        places.append(len(times))
        payloads.append(payload)
        times.append((start, end if isinstance(end, int) else _NOT_TOLD, thread))
    return np.array(times, np.int64).reshape(-1, 3), groups, unreadable


def fields_of(schemas: Mapping[int, Mapping[int, tuple[Entry, ...] | None]], header: bytes) -> tuple[Entry, ...] | None:
    """Return the wanted fields behind a header; None where its size is wrong, or its schema unknown or unclear."""
    domain, schema, size, _ = HEADER.unpack_from(header)
    if size != int.from_bytes(header[HEADER.size :], "little"):
        return None
    by_domain = schemas.get(schema, {})
    # Domains are numbered per process; where all of them agree on a schema, it does not matter whose it is.
    told = {by_domain[domain]} if domain in by_domain else set(by_domain.values())
    return told.pop() if len(told) == 1 else None


def _values(table: np.ndarray[tuple[int, int], np.dtype[np.uint8]], entry: Entry) -> Integers:
    """Return one field of all payloads; unsigned numbers above the largest int64 come out negative, as nsys's do."""
    dtype = np.dtype(entry.dtype)
    values = table[:, entry.offset : entry.offset + dtype.itemsize].copy().view(dtype).reshape(-1)
    return values.astype(np.int64)
