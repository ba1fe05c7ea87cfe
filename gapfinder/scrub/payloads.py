"""Keeps of NVTX payloads only the fields of NCCL that are read; all other bytes become zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gapfinder.load.payloads import HEADER, LONGEST_PAYLOAD, fields_of, payload_schemas
from gapfinder.load.schema import PAYLOAD_ENTRIES

if TYPE_CHECKING:
    from gapfinder.load.database import Database
    from gapfinder.load.schema_check import Value

_UNREADABLE = b""
"""Stands for a payload that cannot be decoded, and is no more decodable itself."""


class PayloadMask:
    """Copies payloads without the bytes that nobody reads."""

    def __init__(self, database: Database) -> None:
        has_schemas = database.has_rows(PAYLOAD_ENTRIES)
        self._schemas = payload_schemas(database) if has_schemas else {}
        self._masks: dict[bytes, bytes | None] = {}

    def copy(self, blob: Value) -> bytes | None:
        """Return what is kept of a payload: None of one that is not NCCL's."""
        if blob is None:
            return None
        if not isinstance(blob, bytes) or not 0 <= len(blob) - HEADER.size <= LONGEST_PAYLOAD:
            return _UNREADABLE
        header = blob[: HEADER.size] + (len(blob) - HEADER.size).to_bytes(2, "little")
        if header not in self._masks:
            self._masks[header] = self._mask(header)
        mask = self._masks[header]
        if not mask:
            return mask
        return (np.frombuffer(blob, np.uint8) & np.frombuffer(mask, np.uint8)).tobytes()

    def _mask(self, header: bytes) -> bytes | None:
        """Return 0xFF for each byte that is kept of payloads with this header, else 0."""
        entries = fields_of(self._schemas, header)
        size = int.from_bytes(header[HEADER.size :], "little")
        if entries is None or any(entry.offset + np.dtype(entry.dtype).itemsize > size for entry in entries):
            return _UNREADABLE
        if not entries:
            return None
        mask = bytearray(HEADER.size + size)
        mask[: HEADER.size - 8] = b"\xff" * (HEADER.size - 8)  # domain, schema and size; the last number is not needed
        for entry in entries:
            start, length = HEADER.size + entry.offset, np.dtype(entry.dtype).itemsize
            mask[start : start + length] = b"\xff" * length
        return bytes(mask)
