"""NCCL's payloads are decoded by field name and offset; what does not decode is counted and never guessed."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING

import pytest
from databases import Kernel, Range, global_tid, nsys_database

from gapfinder.load import load_profile

if TYPE_CHECKING:
    from pathlib import Path

ENTRIES = ("domainId", "schemaId", "idx", "flags", "type", "name TEXT", "offset")
UINT64, INT32, SIZE, ADDRESS = 18, 5, 22, 23
REDUCE, SEND, INIT = 16777221, 16777224, 16777216
POINTER = 2
NCCL_DOMAIN = 2


def blob(schema: int, payload: bytes, *, domain: int = NCCL_DOMAIN, size: int | None = None) -> bytes:
    return struct.pack("<4Q", domain, schema, len(payload) if size is None else size, 32) + payload


def schema(number: int, *fields: tuple[str, int, int | None], domain: int = NCCL_DOMAIN, flags: int | None = None):
    return [(domain, number, place, flags, kind, name, offset) for place, (name, kind, offset) in enumerate(fields)]


ALL = [
    *schema(REDUCE, ("NCCL communicator ID", UINT64, None), ("Message size [bytes]", SIZE, 8)),
    *schema(SEND, ("NCCL communicator ID", UINT64, 0), ("Message size [bytes]", SIZE, 8), ("Peer rank", INT32, 16)),
    *schema(INIT, ("NCCL communicator ID", UINT64, 0), ("No. of ranks", INT32, 8), ("Rank", INT32, 12)),
]


def load(tmp_path: Path, *payloads: object, entries: list = ALL):
    ranges = [Range(start=10 * at, end=10 * at + 5, name="ncclCall", payload=p) for at, p in enumerate(payloads, 1)]
    path = nsys_database(
        tmp_path / "a.sqlite",
        kernels=[Kernel(start=1, end=2)],
        ranges=ranges,
        tables={"NVTX_PAYLOAD_SCHEMA_ENTRIES": (ENTRIES, entries)},
    )
    frame, undecoded = load_profile(path).read_payloads()
    return frame.to_dict("records"), undecoded


def row(start: int, **told: int) -> dict[str, int]:
    unknown = {"communicator": -1, "bytes": -1, "peer": -1, "ranks": -1}
    return {"start": start, "end": start + 5, "thread": global_tid(100), **unknown, **told}


def test_p24_fields_are_found_by_name_and_offset(tmp_path):
    rows, undecoded = load(
        tmp_path,
        blob(REDUCE, struct.pack("<QQ", 0xABC, 4096)),
        blob(SEND, struct.pack("<QQi4x", 0xDEF, 512, 3)),
        blob(INIT, struct.pack("<Qii", 0xABC, 8, 1)),
    )
    assert rows == [
        row(10, communicator=0xABC, bytes=4096),
        row(20, communicator=0xDEF, bytes=512, peer=3),
        row(30, communicator=0xABC, ranks=8),
    ]
    assert undecoded == 0


def test_p24_another_layout_under_another_number_reads_the_same(tmp_path):
    entries = schema(77, ("Reduction operation", 900, 0), ("Message size [bytes]", SIZE, 8), ("Peer rank", INT32, 4))
    rows, _ = load(tmp_path, blob(77, struct.pack("<iiQ", 0, 6, 1 << 40)), entries=entries)
    assert rows == [row(10, bytes=1 << 40, peer=6)]


def test_p23_rows_repeated_by_a_second_process_change_nothing(tmp_path):
    rows, undecoded = load(tmp_path, blob(REDUCE, struct.pack("<QQ", 1, 2)), entries=ALL + ALL)
    assert rows == [row(10, communicator=1, bytes=2)]
    assert undecoded == 0


def test_a_communicator_above_the_largest_int64_keeps_its_bits(tmp_path):
    rows, _ = load(tmp_path, blob(REDUCE, struct.pack("<QQ", 2**64 - 16, 1)))
    assert rows == [row(10, communicator=-16, bytes=1)]


@pytest.mark.parametrize(
    "payload",
    [
        blob(REDUCE, struct.pack("<Q", 1)),
        blob(REDUCE, struct.pack("<QQ", 1, 2), size=15),
        blob(999, struct.pack("<QQ", 1, 2)),
        b"",
        b"short",
        blob(REDUCE, b"\0" * 5000),
        "not bytes at all, and no header",
        7,
        2.5,
    ],
)
def test_what_does_not_decode_is_counted(tmp_path, payload):
    rows, undecoded = load(tmp_path, payload, blob(REDUCE, struct.pack("<QQ", 1, 2)))
    assert rows == [row(20, communicator=1, bytes=2)]
    assert undecoded == 1


def test_two_meanings_of_one_field_are_no_meaning(tmp_path):
    other = schema(REDUCE, ("NCCL communicator ID", UINT64, 8), ("Message size [bytes]", SIZE, 0))
    assert load(tmp_path, blob(REDUCE, struct.pack("<QQ", 1, 2)), entries=ALL + other) == ([], 1)


def test_a_domain_number_of_another_process_is_no_obstacle_where_all_agree(tmp_path):
    rows, _ = load(tmp_path, blob(REDUCE, struct.pack("<QQ", 1, 2), domain=9))
    assert rows == [row(10, communicator=1, bytes=2)]


def test_pointers_and_addresses_are_not_values(tmp_path):
    entries = [
        *schema(REDUCE, ("Message size [bytes]", ADDRESS, 0), ("Peer rank", INT32, 8)),
        *schema(SEND, ("Message size [bytes]", SIZE, 0), flags=POINTER),
    ]
    rows, undecoded = load(
        tmp_path, blob(REDUCE, struct.pack("<Qi", 1, 2)), blob(SEND, struct.pack("<Q", 5)), entries=entries
    )
    assert rows == [row(10, peer=2)]
    assert undecoded == 0  # known, but without a field that is wanted


def test_without_the_column_or_the_table_there_are_none(tmp_path):
    path = nsys_database(
        tmp_path / "b.sqlite", kernels=[Kernel(start=1, end=2)], ranges=[Range(start=1, end=2, name="x")]
    )
    frame, undecoded = load_profile(path).read_payloads()
    assert frame.empty
    assert undecoded == 0
