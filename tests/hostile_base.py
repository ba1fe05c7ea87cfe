"""What every hostile file starts from: a sound report of which all numbers are known, and what is right for a changed one."""

from __future__ import annotations

import sqlite3
import struct
import tempfile
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from databases import Call, Copy, Gpu, Kernel, Range, global_pid, global_tid, nsys_database

MS = 1_000_000
KERNEL, MEMCPY, MEMSET = (f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "MEMCPY", "MEMSET"))
RUNTIME, NVTX, STRINGS = "CUPTI_ACTIVITY_KIND_RUNTIME", "NVTX_EVENTS", "StringIds"
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevComm*)"
REFUSED = frozenset({2})
MEASURED = frozenset({0})
NOTHING = frozenset({3})

Make = Callable[[Path], Path]
"""Writes a file into an empty folder and returns what a user would name."""

LANE = {
    "kernels": 4,
    "ops": 6,
    "dropped_ops": 0,
    "busy_ns": 13 * MS,
    "idle_ns": 3 * MS,
    "compute_ns": 10 * MS,
    "communication_ns": 3 * MS,
    "hidden_ns": 1 * MS,
    "exposed_ns": 2 * MS,
    "compute_only_ns": 9 * MS,
    "copy_only_ns": 1 * MS,
    "graph_only_ns": 0,
    "overlap_ratio": 1 / 3,
    "window": {"start_ns": 1 * MS, "end_ns": 17 * MS, "duration_ns": 16 * MS},
}
"""The numbers of the sound report's lane, added up by hand from the intervals in `sound`."""


@dataclass(frozen=True, kw_only=True)
class Case:
    """A hostile file.

    Attributes:
        name: what is hostile about it.
        make: writes it.
        codes: exit codes of `analyze` that are right.
        words: what its one line has to say; empty where it measures.
        lane: numbers that its one lane has to have.
        lanes: how many lanes there have to be; None where that does not matter.
        is_rest: it is like others, and run only where all are asked for.
    """

    name: str
    make: Make
    codes: frozenset[int] = REFUSED
    words: str = ""
    lane: Mapping[str, object] = field(default_factory=dict)
    lanes: int | None = None
    is_rest: bool = False


def sound(path: Path) -> Path:
    """Write the sound report: every table that is read, one lane, three steps.

    In ms: compute [1, 5) [10, 13) [14, 17), communication [4, 7), a copy [8, 9), a memset [11, 12).
    """
    starts = {1: (1, 5), 2: (10, 13), 3: (14, 17)}
    kernels = [
        Kernel(start=start * MS, end=end * MS, name=f"gemm_{number}<float>(int)", correlation=number)
        for number, (start, end) in starts.items()
    ]
    kernels.append(Kernel(start=4 * MS, end=7 * MS, name=ALL_REDUCE, correlation=4, stream=9))
    copies = [
        Copy(start=8 * MS, end=9 * MS, correlation=5, source_memory=1, target_memory=2),
        Copy(start=11 * MS, end=12 * MS, kind=-1, correlation=6, target_memory=2),
    ]
    calls = [
        Call(start=op.start - MS // 10, end=op.start - MS // 20, correlation=op.correlation)
        for op in (*kernels, *copies)
    ]
    payload = struct.pack("<4QQQ", 2, 16_777_221, 16, 32, 0xABC, 4096)
    ranges = [
        Range(start=MS // 2, end=9 * MS, name="step 1"),
        Range(start=9 * MS, end=13 * MS + MS // 2, name="step 2"),
        Range(start=13 * MS + MS // 2, end=18 * MS, name="step 3", is_registered=True),
        Range(start=3 * MS, end=3 * MS + 10, name="ncclAllReduce", domain=2, payload=payload),
        Range(start=2 * MS, end=None, name="rank=0", event_type=34),
    ]
    with_names = {"cudaLaunchKernel": 900, "read": 901, "overhead": 902}
    named = ("start", "end", "globalTid", "nameId")
    entries = ("domainId", "schemaId", "idx", "flags", "type", "name TEXT", "offset")
    clock = ("timestamp", "typeId", "metricId", "value")
    path = nsys_database(
        path,
        kernels=kernels,
        copies=copies,
        calls=calls,
        ranges=ranges,
        domains={(100, 2): "NCCL"},
        gpus=[Gpu(pid=100, device=0, gpu=0, name="H100")],
        duration=20 * MS,
        start_utc=1_767_000_000_000_000_000,
        tables={
            "OSRT_API": (named, [(9 * MS, 9 * MS + MS // 2, global_tid(100), 901)]),
            "PROFILER_OVERHEAD": (named, [(13 * MS, 13 * MS + 1000, global_tid(100), 902)]),
            "CUPTI_ACTIVITY_KIND_OVERHEAD": (named, [(13 * MS, 13 * MS + 900, global_tid(100), 902)]),
            "CUPTI_ACTIVITY_KIND_GRAPH_TRACE": (("start", "end", "deviceId", "globalPid", "graphId"), []),
            "NVTX_PAYLOAD_SCHEMA_ENTRIES": (
                entries,
                [
                    (2, 16_777_221, 0, None, 18, "NCCL communicator ID", None),
                    (2, 16_777_221, 1, None, 22, "Message size [bytes]", 8),
                ],
            ),
            "GPU_METRICS": (clock, [(2 * MS, 0x500_0000_0300, 9, 1_755_000_000)]),
            "TARGET_INFO_GPU_METRICS": (
                ("typeId", "sourceId", "typeName TEXT", "metricId", "metricName TEXT"),
                [(0x500_0000_0300, 1, "gh100", 9, "GPC Clock Frequency [MHz]")],
            ),
            "DIAGNOSTIC_EVENT": (
                ("timestamp", "timestampType", "source", "severity", "text TEXT", "globalPid"),
                [(0, 0, 0, 2, "Some events were lost", global_pid(100))],
            ),
        },
    )
    with closing(sqlite3.connect(path)) as database, database:
        database.executemany(f"INSERT INTO {STRINGS} VALUES (?, ?)", [(k, text) for text, k in with_names.items()])
    return path


@cache
def sound_bytes() -> bytes:
    """The sound report's bytes."""
    with tempfile.TemporaryDirectory() as folder:
        return sound(Path(folder) / "sound.sqlite").read_bytes()


def written(content: bytes, *, name: str = "rank3.sqlite") -> Make:
    """A file of these bytes."""

    def make(folder: Path) -> Path:
        path = folder / name
        path.write_bytes(content)
        return path

    return make


def changed(*statements: str, parameters: tuple[object, ...] = ()) -> Make:
    """The sound report after statements of SQL; the last one takes the parameters."""

    def make(folder: Path) -> Path:
        path = written(sound_bytes())(folder)
        with closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA synchronous = OFF")
            for statement in statements[:-1]:
                database.execute(statement)
            database.execute(statements[-1], parameters)
            database.commit()
        return path

    return make


def made(build: Callable[[Path], Path]) -> Make:
    """A database that `build` writes."""
    return lambda folder: build(folder / "rank3.sqlite")
