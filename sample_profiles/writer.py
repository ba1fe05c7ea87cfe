"""Writes a simulated capture as an nsys SQLite export, byte for byte the same each time."""

# ruff: noqa: S608 (table names are the constants of schema.py)

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from sqlite_utils import Database

from sample_profiles import schema
from sample_profiles.payloads import schema_rows
from sample_profiles.rows import CAPTURE_TAIL_NS, Strings, nvtx_domains, process_rows
from sample_profiles.trace import Thread
from sample_profiles.training import NCCL_DOMAIN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from sample_profiles.rows import Row
    from sample_profiles.trace import Process

_VM = 1 << 48
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
STARTED_UTC_NS = (datetime(2026, 3, 2, 9, 30, tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1) * 1000
_BOOT_CLOCK_NS = 90_061_000_000_000
_PAGE_SIZE = 4096
# Offsets of the change counter and of the two version fields in SQLite's file header
# (https://www.sqlite.org/fileformat.html): the only bytes that depend on the library that writes.
_HEADER_FIELDS = {24: 1, 92: 1, 96: 3_040_000}


def _same(time: int) -> int:
    return time


@dataclass(frozen=True, kw_only=True, slots=True)
class Session:
    """One run of nsys: whose clock a report is on.

    Attributes:
        started_utc_ns: when it started, by the clock of its machine.
        clock: turns simulated time into ns of that clock since the start; never runs backwards.
        gpus: GPUs of the machine; None for as many as there are processes.
    """

    started_utc_ns: int = STARTED_UTC_NS
    clock: Callable[[int], int] = _same
    gpus: int | None = None


def write_export(processes: Sequence[Process], path: Path, *, session: Session | None = None) -> None:
    """Write the export of a capture to a new file at `path`; by default its clock is the simulated one."""
    session = session or Session()
    strings = Strings()
    tables: dict[str, list[Row]] = {}
    for process in processes:
        for table, rows in process_rows(process, strings).items():
            tables.setdefault(table, []).extend(_on(session.clock, row) for row in rows)
    if any(item.payload for process in processes for item in process.ranges):
        tables |= schema_rows(nvtx_domains(process)[NCCL_DOMAIN] for process in processes)
    tables |= _machine_rows(processes, strings, session=session)
    tables["StringIds"] = [(number, text) for text, number in strings.ids.items()]
    database = Database(sqlite3.connect(path))
    for pragma in (f"page_size = {_PAGE_SIZE}", "journal_mode = OFF", "synchronous = OFF"):
        database.execute(f"PRAGMA {pragma}")  # nobody needs half a file after a crash
    with database.conn as connection:
        schema.create_tables(connection, only=[table for table, rows in tables.items() if rows])
        for table in sorted(table for table, rows in tables.items() if rows):
            values = ", ".join("?" * len(schema.columns(table)))
            # sqlite-utils makes a dict of each row and takes ten times as long.
            connection.executemany(f"INSERT INTO {table} VALUES ({values})", tables[table])
    database.vacuum()
    database.close()
    _normalise_header(path)


def _normalise_header(path: Path) -> None:
    with path.open("r+b") as file:
        for offset, value in _HEADER_FIELDS.items():
            file.seek(offset)
            file.write(value.to_bytes(4, "big"))


def _on(clock: Callable[[int], int], row: Row) -> Row:
    """Return an event's row, which begins with start and end, with these on another clock."""
    start, end, *others = row
    return (
        clock(start) if isinstance(start, int) else start,
        clock(end) if isinstance(end, int) else end,
        *others,
    )


def _machine_rows(
    processes: Sequence[Process], strings: Strings, *, session: Session
) -> Iterator[tuple[str, list[Row]]]:
    """Yield the tables that describe the machine and the capture."""
    end = session.clock(max(op.span[1] for process in processes for op in process.ops) + CAPTURE_TAIL_NS)
    utc = (_EPOCH + timedelta(microseconds=session.started_utc_ns // 1000)).strftime("%Y-%m-%dT%H:%M:%S")
    pids = [process.pid for process in processes]
    gpus = range(session.gpus or len(processes))
    yield "TARGET_INFO_SESSION_START_TIME", [(session.started_utc_ns, utc, utc)]
    yield "ANALYSIS_DETAILS", [(_VM, end, _BOOT_CLOCK_NS, _BOOT_CLOCK_NS + end)]
    yield "PROCESSES", [(_VM | pid << 24, pid, "python3") for pid in pids]
    yield "TARGET_INFO_GPU", [_gpu(device) for device in gpus]
    yield "TARGET_INFO_CUDA_DEVICE", [(device, device, pid) for pid in pids for device in gpus]
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
