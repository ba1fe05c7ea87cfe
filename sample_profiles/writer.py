"""Writes a simulated capture as an nsys SQLite export, byte for byte the same each time."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlite_utils import Database

from sample_profiles import schema
from sample_profiles.rows import CAPTURE_TAIL_NS, Strings, process_rows
from sample_profiles.trace import Thread

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sample_profiles.rows import Row
    from sample_profiles.trace import Process

_VM = 1 << 48
_STARTED = datetime(2026, 3, 2, 9, 30, tzinfo=UTC)
_BOOT_CLOCK_NS = 90_061_000_000_000
_PAGE_SIZE = 4096
# Offsets of the change counter and of the two version fields in SQLite's file header
# (https://www.sqlite.org/fileformat.html): the only bytes that depend on the library that writes.
_HEADER_FIELDS = {24: 1, 92: 1, 96: 3_040_000}
_INSERT_BATCH = 100


def write_export(processes: Sequence[Process], path: Path) -> None:
    """Write the export of a capture to a new file at `path`."""
    strings = Strings()
    tables: dict[str, list[Row]] = {}
    for process in processes:
        for table, rows in process_rows(process, strings).items():
            tables.setdefault(table, []).extend(rows)
    end = max(op.span[1] for process in processes for op in process.ops) + CAPTURE_TAIL_NS
    tables |= {table: list(rows) for table, rows in _machine_rows(processes, strings, end=end)}
    tables["StringIds"] = [(number, text) for text, number in strings.ids.items()]
    database = Database(sqlite3.connect(path))
    database.execute(f"PRAGMA page_size = {_PAGE_SIZE}")
    with database.conn as connection:
        schema.create_tables(connection, only=[table for table, rows in tables.items() if rows])
    for table in sorted(tables):
        names = schema.columns(table)
        records = (dict(zip(names, row, strict=True)) for row in tables[table])
        database.table(table).insert_all(records, batch_size=_INSERT_BATCH)
    database.vacuum()
    database.close()
    _normalise_header(path)


def _normalise_header(path: Path) -> None:
    with path.open("r+b") as file:
        for offset, value in _HEADER_FIELDS.items():
            file.seek(offset)
            file.write(value.to_bytes(4, "big"))


def _machine_rows(processes: Sequence[Process], strings: Strings, *, end: int) -> Iterator[tuple[str, list[Row]]]:
    """Yield the tables that describe the machine and the capture."""
    utc = _STARTED.strftime("%Y-%m-%dT%H:%M:%S")
    epoch_ns = (_STARTED - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1) * 1000
    pids = [process.pid for process in processes]
    yield "TARGET_INFO_SESSION_START_TIME", [(epoch_ns, utc, utc)]
    yield "ANALYSIS_DETAILS", [(_VM, end, _BOOT_CLOCK_NS, _BOOT_CLOCK_NS + end)]
    yield "PROCESSES", [(_VM | pid << 24, pid, "python3") for pid in pids]
    yield "TARGET_INFO_GPU", [_gpu(process.device) for process in processes]
    yield "TARGET_INFO_CUDA_DEVICE", [(device, device, pid) for pid in pids for device in range(len(processes))]
    contexts: list[Row] = [(7, 0, 1, process.pid, process.device, 1, 0, 0) for process in processes]
    yield "TARGET_INFO_CUDA_CONTEXT_INFO", contexts
    yield "TARGET_INFO_CUDA_STREAM", [row for process in processes for row in _streams(process)]
    yield "ThreadNames", [row for process in processes for row in _threads(process, strings)]
    yield "META_DATA_EXPORT", _metadata()


def _gpu(device: int) -> Row:
    """One H100 SXM, as such a GPU describes itself."""
    bus = f"0000:{0x1B + 0x10 * device:02x}:00.0"
    memory = (52_428_800, 85_029_158_912, 3_352_320_000_000, 1_980_000_000, 132)
    limits = (65_536, 4, 65_536, 49_152, 232_448, 233_472, 65_536, 32, 3, 64, 32, 1024, 1024, 1024, 64)
    grid = (2_147_483_647, 65_535, 65_535)
    name = "NVIDIA H100 80GB HBM3"
    return (
        _VM,
        device,
        name,
        bus,
        1,
        *memory,
        device,
        "",
        0,
        "GH100",
        device,
        "",
        "",
        161,
        0,
        *limits,
        *grid,
        9,
        0,
        9,
        0,
    )


def _streams(process: Process) -> Iterator[Row]:
    null_stream, non_blocking = 3, 2
    for stream in sorted({op.stream for op in process.ops}):
        is_null = stream == min(op.stream for op in process.ops)
        yield (stream, 0, 1, process.pid, 1, 0, null_stream if is_null else non_blocking)


def _threads(process: Process, strings: Strings) -> Iterator[Row]:
    normal_priority = 20
    for thread in Thread:
        yield (strings[thread.value], normal_priority, process.thread_id(thread))


def _metadata() -> list[Row]:
    major, minor, micro = schema.SCHEMA_VERSION.split(".")
    return [
        ("EXPORT_PRODUCT_NAME", "NVIDIA Nsight Systems (simulated)"),
        ("EXPORT_PRODUCT_VERSION", schema.PRODUCT_VERSION),
        ("EXPORT_SCHEMA_VERSION", schema.SCHEMA_VERSION),
        ("EXPORT_SCHEMA_VERSION_MAJOR", major),
        ("EXPORT_SCHEMA_VERSION_MINOR", minor),
        ("EXPORT_SCHEMA_VERSION_MICRO", micro),
        ("EXPORT_PARAM_LAZY", "true"),
        ("EXPORT_PARAM_TIME_NORMALIZE", "false"),
        ("EXPORT_PARAM_TIME_SHIFT", "0"),
    ]
