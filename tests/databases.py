"""Builds small databases shaped like nsys exports, for the tests of every stage."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

Rows = Iterable[Sequence[object]]
Tables = Mapping[str, tuple[Sequence[str], Rows]]
"""Table name to (columns, rows); a column is a name (then INTEGER) or a name with its type, such as "value TEXT"."""

PUSH_POP, START_END, MARK, DOMAIN = 59, 60, 34, 75


def global_pid(pid: int, *, vm: int = 1 << 24) -> int:
    """The process key of a process id."""
    return vm << 24 | pid << 24


def global_tid(pid: int, tid: int | None = None) -> int:
    """The globalTid of a thread (its main thread when not told)."""
    return global_pid(pid) | (pid if tid is None else tid)


@dataclass(frozen=True, kw_only=True)
class Kernel:
    start: int
    end: int
    name: str = "gemm"
    device: int = 0
    context: int = 1
    stream: int = 7
    pid: int = 100
    correlation: int | None = None


@dataclass(frozen=True, kw_only=True)
class Copy:
    """A memcpy, or with kind -1 a memset."""

    start: int
    end: int
    kind: int = 1
    size: int = 4096
    device: int = 0
    context: int = 1
    stream: int = 7
    pid: int = 100
    correlation: int | None = None
    source_device: int | None = None
    target_device: int | None = None
    source_memory: int | None = None
    target_memory: int | None = None


@dataclass(frozen=True, kw_only=True)
class Graph:
    start: int
    end: int
    graph: int = 1
    device: int = 0
    context: int = 1
    stream: int = 7
    pid: int = 100
    correlation: int | None = None


@dataclass(frozen=True, kw_only=True)
class Call:
    start: int
    end: int
    correlation: int
    name: str = "cudaLaunchKernel_v7000"
    pid: int = 100
    tid: int | None = None


@dataclass(frozen=True, kw_only=True)
class Range:
    """An NVTX event: a range, or with event_type MARK a mark. `is_registered` stores its name by id.

    `payload` is its binaryData, a column that is left out where no event has one.
    """

    start: int
    end: int | None
    name: str | None
    pid: int = 100
    tid: int | None = None
    domain: int = 0
    event_type: int = PUSH_POP
    is_registered: bool = False
    payload: object = None


@dataclass(frozen=True, kw_only=True)
class Gpu:
    """What TARGET_INFO_CUDA_DEVICE and TARGET_INFO_GPU say of a device of a process."""

    pid: int
    device: int
    gpu: int
    name: str


def write_database(path: Path, tables: Tables, *, page_size: int = 4096) -> Path:
    """Write the tables to a new database and return its path."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"PRAGMA page_size = {page_size}")
        for name, (columns, rows) in tables.items():
            declared = [column if " " in column else f'"{column}" INTEGER' for column in columns]
            connection.execute(f'CREATE TABLE "{name}" ({", ".join(declared)})')
            holes = ", ".join("?" * len(columns))
            connection.executemany(f'INSERT INTO "{name}" VALUES ({holes})', rows)
        connection.commit()
    return path


def nsys_database(
    path: Path,
    *,
    kernels: Iterable[Kernel] = (),
    copies: Iterable[Copy] = (),
    graphs: Iterable[Graph] = (),
    calls: Iterable[Call] = (),
    ranges: Iterable[Range] = (),
    domains: Mapping[tuple[int, int], str] | None = None,
    gpus: Iterable[Gpu] = (),
    duration: int | None = None,
    start_utc: int | None = None,
    schema_version: str = "3.25.0",
    tables: Tables | None = None,
    page_size: int = 4096,
) -> Path:
    """Write an export as nsys 2026.2 lays it out; a table without rows is left out, as nsys does.

    Args:
        path: the new file.
        kernels: rows of CUPTI_ACTIVITY_KIND_KERNEL.
        copies: rows of CUPTI_ACTIVITY_KIND_MEMCPY and _MEMSET.
        graphs: rows of CUPTI_ACTIVITY_KIND_GRAPH_TRACE.
        calls: rows of CUPTI_ACTIVITY_KIND_RUNTIME.
        ranges: rows of NVTX_EVENTS.
        domains: (pid, domain number) to name: the NVTX domains.
        gpus: rows of TARGET_INFO_CUDA_DEVICE with their TARGET_INFO_GPU.
        duration: ANALYSIS_DETAILS.duration.
        start_utc: TARGET_INFO_SESSION_START_TIME.utcEpochNs.
        schema_version: EXPORT_SCHEMA_VERSION.
        tables: further tables, or others in place of these.
        page_size: bytes of a page.
    """
    strings: dict[str, int] = {}
    all_copies = list(copies)
    made = {
        "CUPTI_ACTIVITY_KIND_KERNEL": _kernels(kernels, strings),
        "CUPTI_ACTIVITY_KIND_MEMCPY": _memcpy(copy for copy in all_copies if copy.kind >= 0),
        "CUPTI_ACTIVITY_KIND_MEMSET": _memset(copy for copy in all_copies if copy.kind < 0),
        "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": _graphs(graphs),
        "CUPTI_ACTIVITY_KIND_RUNTIME": _calls(calls, strings),
        "NVTX_EVENTS": _events(ranges, domains or {}, strings),
        **_gpus(list(gpus)),
        "ANALYSIS_DETAILS": (("globalVid", "duration"), [] if duration is None else [(1 << 48, duration)]),
        "TARGET_INFO_SESSION_START_TIME": (("utcEpochNs",), [] if start_utc is None else [(start_utc,)]),
        "META_DATA_EXPORT": (
            ("name TEXT", "value TEXT"),
            [("EXPORT_PRODUCT_VERSION", "2026.2.1.210"), ("EXPORT_SCHEMA_VERSION", schema_version)],
        ),
        "StringIds": (
            ("id INTEGER NOT NULL PRIMARY KEY", "value TEXT NOT NULL"),
            [(k, text) for text, k in strings.items()],
        ),
    }
    filled = {name: table for name, table in made.items() if table[1]}
    return write_database(path, {**filled, **(tables or {})}, page_size=page_size)


_PLACE = ("deviceId", "contextId", "greenContextId", "streamId", "correlationId", "globalPid")


def _place(op: Kernel | Copy | Graph) -> tuple[object, ...]:
    return op.device, op.context, None, op.stream, op.correlation, global_pid(op.pid)


def _intern(text: str, strings: dict[str, int]) -> int:
    return strings.setdefault(text, len(strings) + 1)


def _kernels(kernels: Iterable[Kernel], strings: dict[str, int]) -> tuple[Sequence[str], list[Sequence[object]]]:
    columns = ("start", "end", *_PLACE, "demangledName", "shortName", "mangledName", "gridX")
    return columns, [
        (k.start, k.end, *_place(k), _intern(k.name, strings), _intern(k.name.split("<")[0], strings), None, 1)
        for k in kernels
    ]


def _memcpy(copies: Iterable[Copy]) -> tuple[Sequence[str], list[Sequence[object]]]:
    columns = ("start", "end", *_PLACE, "bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId")
    return columns, [
        (c.start, c.end, *_place(c), c.size, c.kind, c.source_memory, c.target_memory, c.source_device, c.target_device)
        for c in copies
    ]


def _memset(copies: Iterable[Copy]) -> tuple[Sequence[str], list[Sequence[object]]]:
    columns = ("start", "end", *_PLACE, "value", "bytes", "graphNodeId", "memKind")
    return columns, [(c.start, c.end, *_place(c), 0, c.size, None, c.target_memory) for c in copies]


def _graphs(graphs: Iterable[Graph]) -> tuple[Sequence[str], list[Sequence[object]]]:
    return ("start", "end", *_PLACE, "graphId"), [(g.start, g.end, *_place(g), g.graph) for g in graphs]


def _calls(calls: Iterable[Call], strings: dict[str, int]) -> tuple[Sequence[str], list[Sequence[object]]]:
    columns = ("start", "end", "eventClass", "globalTid", "correlationId", "nameId", "returnValue", "callchainId")
    return columns, [
        (c.start, c.end, 0, global_tid(c.pid, c.tid), c.correlation, _intern(c.name, strings), 0, None) for c in calls
    ]


def _events(
    ranges: Iterable[Range], domains: Mapping[tuple[int, int], str], strings: dict[str, int]
) -> tuple[Sequence[str], list[Sequence[object]]]:
    columns = ("start", "end", "eventType", "text TEXT", "globalTid", "textId", "domainId")
    rows: list[Sequence[object]] = [
        (0, None, DOMAIN, name, global_tid(pid), None, domain, None) for (pid, domain), name in domains.items()
    ]
    for r in ranges:
        text_id = _intern(r.name, strings) if r.is_registered and r.name is not None else None
        text = r.name if text_id is None else None
        rows.append((r.start, r.end, r.event_type, text, global_tid(r.pid, r.tid), text_id, r.domain, r.payload))
    if all(row[-1] is None for row in rows):
        return columns, [row[:-1] for row in rows]
    return (*columns, "binaryData TEXT"), rows


def _gpus(gpus: Sequence[Gpu]) -> dict[str, tuple[Sequence[str], list[Sequence[object]]]]:
    names = sorted({(gpu.gpu, gpu.name) for gpu in gpus})
    return {
        "TARGET_INFO_CUDA_DEVICE": (("gpuId", "cudaId", "pid"), [(g.gpu, g.device, g.pid) for g in gpus]),
        "TARGET_INFO_GPU": (("vmId", "id", "name TEXT"), [(1 << 48, number, name) for number, name in names]),
    }
