"""What NCCL attaches to its NVTX ranges: its payload schemas, and one event's values as the export holds them."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from sample_profiles.rows import Row

# NVTX_PAYLOAD_ENTRY_TYPE_*. Source: nvtx3/nvToolsExtPayload.h. From _STATIC on they number a library's own schemas.
_INT, _UINT64, _SIZE = 5, 18, 22
_STATIC = 1 << 24
_REDUCTION = _STATIC + 11
_LAYOUTS = {_INT: "i", _UINT64: "Q", _SIZE: "Q", _REDUCTION: "i"}
_STRUCT = 1
_ALIGNMENT = 8

_COMMUNICATOR = ("NCCL communicator ID", _UINT64)
_BYTES = ("Message size [bytes]", _SIZE)
_OPERATION = ("Reduction operation", _REDUCTION)
_PEER = ("Peer rank", _INT)


class Schema(IntEnum):
    """NCCL's payload schemas by their static number (src/include/nvtx.h of NCCL 2.2x)."""

    INIT = 0
    ALL_GATHER = 4
    ALL_REDUCE = 5
    REDUCE_SCATTER = 7
    SEND = 9
    RECEIVE = 10


# Name, fields. Source: src/include/nvtx_payload_schemas.h of NCCL.
_SCHEMAS = {
    Schema.INIT: ("CommInitRank", (_COMMUNICATOR, ("No. of ranks", _INT), ("Rank", _INT), ("CUDA device", _INT))),
    Schema.ALL_GATHER: ("AllGather", (_COMMUNICATOR, _BYTES)),
    Schema.ALL_REDUCE: ("AllReduce", (_COMMUNICATOR, _BYTES, _OPERATION)),
    Schema.REDUCE_SCATTER: ("ReduceScatter", (_COMMUNICATOR, _BYTES, _OPERATION)),
    Schema.SEND: ("Send", (_COMMUNICATOR, _BYTES, _PEER)),
    Schema.RECEIVE: ("Recv", (_COMMUNICATOR, _BYTES, _PEER)),
}


def _layout(schema: Schema) -> struct.Struct:
    """Return the C struct of a schema, padded at its end as a compiler does; its fields need no padding."""
    fields = "<" + "".join(_LAYOUTS[kind] for _, kind in _SCHEMAS[schema][1])
    return struct.Struct(f"{fields}{-struct.calcsize(fields) % _ALIGNMENT}x")


@dataclass(frozen=True, slots=True)
class Payload:
    """The values of one event, in the order of the schema's fields."""

    schema: Schema
    values: tuple[int, ...]

    def blob(self, *, domain: int) -> bytes:
        """Return the column binaryData: domain, schema, payload's size and whole size, then the struct itself."""
        body = _layout(self.schema).pack(*self.values)
        return struct.pack("<4Q", domain, _STATIC + self.schema, len(body), 32 + len(body)) + body


def schema_rows(domains: Iterable[int]) -> Iterator[tuple[str, list[Row]]]:
    """Yield the tables of schemas; every process, known by its number of NCCL's domain, registers all of them (P23)."""
    schemas: list[Row] = []
    entries: list[Row] = []
    for domain in domains:
        for schema, (name, fields) in _SCHEMAS.items():
            number, size = _STATIC + schema, _layout(schema).size
            schemas.append((domain, number, name, _STRUCT, None, len(fields), size, None))
            offset = 0
            for place, (field, kind) in enumerate(fields):
                # nsys leaves the first offset empty.
                entries.append((domain, number, place, None, kind, field, None, None, offset or None))
                offset += struct.calcsize(_LAYOUTS[kind])
    yield "NVTX_PAYLOAD_SCHEMAS", schemas
    yield "NVTX_PAYLOAD_SCHEMA_ENTRIES", entries
