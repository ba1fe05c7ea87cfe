"""Hand-made profiles for tests of analysis: one line per row, times in plain nanoseconds."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path

import pandas as pd

from gapfinder.load.profile import Profile
from gapfinder.tables import CALLS, CLOCKS, COPIES, DEVICES, GRAPHS, KERNELS, MARKS, MEMSET, OS_CALLS, OVERHEADS, RANGES

GEMM = "void cutlass::gemm<float, 4>(float*)"
NCCL = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
HOST_TO_DEVICE, DEVICE_TO_DEVICE, PEER = 1, 8, 10


def process(pid: int) -> int:
    """Return the process key of `pid` as nsys writes it."""
    return 2**48 + pid * 2**24


@dataclass
class K:
    """A kernel."""

    start: int
    end: int
    name: str = GEMM
    stream: int = 7
    device: int = 0
    pid: int = 100
    correlation: int = -1
    context: int = 1


@dataclass
class M:
    """A copy; a memset with kind MEMSET."""

    start: int
    end: int
    kind: int = HOST_TO_DEVICE
    stream: int = 7
    device: int = 0
    pid: int = 100
    correlation: int = -1
    context: int = 1
    source: int = -1
    target: int = -1
    size: int = 1024
    from_memory: int = -1
    to_memory: int = -1


@dataclass
class G:
    """A CUDA graph traced whole."""

    start: int
    end: int
    device: int = 0
    pid: int = 100
    correlation: int = -1


@dataclass
class R:
    """A CUDA API call."""

    start: int
    end: int
    correlation: int
    name: str = "cudaLaunchKernel_v7000"
    pid: int = 100
    tid: int = 100


@dataclass
class S:
    """A call into the operating system."""

    start: int
    end: int
    name: str = "poll"
    pid: int = 100
    tid: int = 100


@dataclass
class V:
    """Overhead of profiler or driver."""

    start: int
    end: int
    name: str = "CUPTI Buffer flush"
    pid: int = 100
    tid: int = 100


@dataclass
class N:
    """An NVTX range; open without an end."""

    start: int
    end: int | None
    name: str
    domain: str = ""
    pid: int = 100
    tid: int = 100
    is_process_wide: bool = False


@dataclass
class C:
    """A sample of a GPU's clock, in Hz."""

    time: int
    clock: int
    gpu: int = 0


@dataclass
class Mark:
    """An NVTX mark."""

    start: int
    name: str
    domain: str = "gapfinder"
    pid: int = 100


def _place(row: K | M | G) -> dict[str, int]:
    return {
        "start": row.start,
        "end": row.end,
        "process": process(row.pid),
        "device": row.device,
        "context": getattr(row, "context", 1),
        "stream": getattr(row, "stream", 7),
        "correlation": row.correlation,
    }


def _frame(table, rows: list[dict]) -> pd.DataFrame:
    return table.frame({c.name: [row[c.name] for row in rows] for c in table.columns}) if rows else table.empty()


def _copy(row: M) -> dict[str, int]:
    memory = {"source_memory": row.from_memory, "target_memory": row.to_memory}
    devices = {"source_device": row.source, "target_device": row.target}
    return {**_place(row), "kind": row.kind, "bytes": row.size, **memory, **devices}


def _named(row: S | V) -> dict[str, object]:
    return {"start": row.start, "end": row.end, "thread": process(row.pid) + row.tid, "name": row.name}


def _range(row: N) -> dict[str, object]:
    return {
        "start": row.start,
        "end": row.start if row.end is None else row.end,
        "is_open": row.end is None,
        "is_process_wide": row.is_process_wide,
        "thread": process(row.pid) + row.tid,
        "domain": row.domain,
        "name": row.name,
    }


def profile(
    *rows: K | M | G | R | S | V | N | C | Mark, devices: list[tuple[int, int, int, str]] = (), name: str = "a.sqlite"
) -> Profile:
    """Return a profile of these rows; `devices` are (pid, device, gpu, gpu name)."""
    of = {kind: [row for row in rows if isinstance(row, kind)] for kind in (K, M, G, R, S, V, N, C, Mark)}
    calls = [
        {"start": r.start, "end": r.end, "thread": process(r.pid) + r.tid, "correlation": r.correlation, "name": r.name}
        for r in of[R]
    ]
    marks = [{"start": m.start, "thread": process(m.pid) + m.pid, "domain": m.domain, "name": m.name} for m in of[Mark]]
    gpus = [{"process": process(p), "device": d, "gpu": gpu, "gpu_name": text} for p, d, gpu, text in devices]
    return Profile(
        path=Path(name),
        nsys_version=None,
        export_schema_version=None,
        capture_end_ns=None,
        start_utc_ns=None,
        has_nvtx=bool(of[N] or of[Mark]),
        has_calls=bool(calls),
        has_os_calls=bool(of[S]),
        kernels=_frame(KERNELS, [{**_place(k), "name": k.name} for k in of[K]]),
        copies=_frame(COPIES, [_copy(m) for m in of[M]]),
        graphs=_frame(GRAPHS, [{**_place(g), "graph": 1} for g in of[G]]),
        ranges=_frame(RANGES, [_range(n) for n in of[N]]),
        marks=_frame(MARKS, marks),
        devices=_frame(DEVICES, gpus),
        read_calls=lambda: _frame(CALLS, calls),
        read_os_calls=lambda: _frame(OS_CALLS, [_named(s) for s in of[S]]),
        read_overheads=lambda: _frame(OVERHEADS, [_named(v) for v in of[V]]),
        read_clocks=lambda: _frame(CLOCKS, [asdict(c) for c in of[C]]),
    )


__all__ = [
    "DEVICE_TO_DEVICE",
    "GEMM",
    "HOST_TO_DEVICE",
    "MEMSET",
    "NCCL",
    "PEER",
    "C",
    "G",
    "K",
    "M",
    "Mark",
    "N",
    "R",
    "S",
    "V",
    "process",
    "profile",
]
