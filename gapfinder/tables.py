"""The declared columns of every frame that crosses a stage; `docs/columns.md` is made from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

PROCESS_MASK = 0xFFFFFFFFFF000000 - 2**64
"""The upper 40 bits of a globalTid or globalPid (hardware, VM, process), as int64: what tells two processes apart.

Source: the layout 8 bit hardware, 8 bit VM, 24 bit process, 24 bit thread that nsys's own report scripts decode.
"""

MEMSET = -1
"""The `kind` of a COPIES row that came from the memset table; other kinds are CUPTI's CUpti_ActivityMemcpyKind."""

Dtype = Literal["int64", "float64", "bool", "category"]


def process_id(process: int) -> int:
    """Return the operating system's process id held in a process key."""
    return (process >> 24) & 0xFFFFFF


def machine_of(process: int) -> int:
    """Return what tells the machine (hardware, VM) that nsys saw the process on from another one in its report."""
    return process >> 48


@dataclass(frozen=True, slots=True)
class Column:
    """One column: its name, its dtype and what it means, with the unit."""

    name: str
    dtype: Dtype
    meaning: str


@dataclass(frozen=True, slots=True)
class Table:
    """A frame's declaration: every stage hands over exactly these columns, in this order."""

    name: str
    meaning: str
    columns: tuple[Column, ...]

    def frame(self, data: Mapping[str, Any]) -> pd.DataFrame:
        """Return `data` (column name to equally long one-dimensional values) as a frame of this table."""
        import pandas as pd

        names = [column.name for column in self.columns]
        if set(data) != set(names):
            raise ValueError(f"{self.name} has the columns {names}, got {sorted(data)}")
        series = {c.name: pd.Series(data[c.name], dtype=c.dtype, copy=False) for c in self.columns}
        return pd.DataFrame(series, copy=False)

    def empty(self) -> pd.DataFrame:
        """Return the frame without rows."""
        return self.frame({column.name: [] for column in self.columns})


_START = Column("start", "int64", "first nanosecond, on the report's own clock")
_END = Column("end", "int64", "the nanosecond after the last one")
_PLACE = (
    Column("process", "int64", "process key: globalPid with the thread bits cleared; 0 where the report has none"),
    Column("device", "int64", "CUDA device number as that process counts"),
    Column("context", "int64", "CUDA context"),
    Column("stream", "int64", "CUDA stream; unique only within process, device and context"),
    Column("correlation", "int64", "number of the launch call; unique only within the process; -1 where unknown"),
)
_THREAD = Column("thread", "int64", "globalTid of the calling thread; `thread & PROCESS_MASK` is its process key")

KERNELS = Table(
    "kernels",
    "One row per kernel (CUPTI_ACTIVITY_KIND_KERNEL), as exported: unusable rows are still in it.",
    (_START, _END, *_PLACE, Column("name", "category", "demangled name, else the short name")),
)
COPIES = Table(
    "copies",
    "One row per memcpy or memset (CUPTI_ACTIVITY_KIND_MEMCPY, _MEMSET).",
    (
        _START,
        _END,
        *_PLACE,
        Column("kind", "int64", "CUPTI memcpy kind (1 host to device, 2 device to host, 8 device, 10 peer); -1 memset"),
        Column("bytes", "int64", "bytes moved or set"),
        Column("source_device", "int64", "device read from; -1 where unknown"),
        Column("target_device", "int64", "device written to; -1 where unknown"),
        Column("source_memory", "int64", "nsys memory kind read from (0 pageable, 1 pinned, 2 device); -1 unknown"),
        Column("target_memory", "int64", "nsys memory kind written to; -1 where unknown"),
    ),
)
GRAPHS = Table(
    "graphs",
    "One row per CUDA graph launch traced whole (CUPTI_ACTIVITY_KIND_GRAPH_TRACE): what ran inside is unknown.",
    (_START, _END, *_PLACE, Column("graph", "int64", "graph number; -1 where unknown")),
)
CALLS = Table(
    "calls",
    "One row per CUDA API call (CUPTI_ACTIVITY_KIND_RUNTIME): host time, never GPU time.",
    (
        _START,
        _END,
        _THREAD,
        Column("correlation", "int64", "number shared with the GPU work it launched, within the process"),
        Column("name", "category", "function, such as cudaLaunchKernel_v7000"),
    ),
)
OS_CALLS = Table(
    "os_calls",
    "One row per call into the operating system that nsys traced (OSRT_API): host time, blocked or at work there.",
    (_START, _END, _THREAD, Column("name", "category", "function, such as poll")),
)
OVERHEADS = Table(
    "overheads",
    "One row per time that profiler or driver took for itself (PROFILER_OVERHEAD, CUPTI_ACTIVITY_KIND_OVERHEAD).",
    (_START, _END, _THREAD, Column("name", "category", "what for, such as CUPTI Buffer flush")),
)
RANGES = Table(
    "ranges",
    "One row per NVTX range (event types 59, 60, 70 and 71): host time.",
    (
        _START,
        Column("end", "int64", "the nanosecond after the last one; the start where the range never ended"),
        Column("is_open", "bool", "the range had not ended when the capture did"),
        Column("is_process_wide", "bool", "a start/end range: it may end on another thread and overlap others"),
        _THREAD,
        Column("domain", "category", "NVTX domain's name; empty for the default domain"),
        Column("name", "category", "the range's text"),
    ),
)
PAYLOADS = Table(
    "payloads",
    "One row per NVTX event with a payload of NCCL's that could be decoded: what a call was asked to do.",
    (
        _START,
        Column("end", "int64", "the nanosecond after the last one; -1 where the event has no end"),
        _THREAD,
        Column("communicator", "int64", "NCCL's communicator id, read as signed; -1 where not told"),
        Column("bytes", "int64", "message size as NCCL's call counts it; -1 where not told"),
        Column("peer", "int64", "rank sent to or received from; -1 where not told"),
        Column("ranks", "int64", "ranks of the communicator; -1 where not told"),
    ),
)
MARKS = Table(
    "marks",
    "One row per NVTX mark (event type 34).",
    (
        _START,
        _THREAD,
        Column("domain", "category", "NVTX domain's name; empty for the default domain"),
        Column("name", "category", "the mark's text"),
    ),
)
DEVICES = Table(
    "devices",
    "One row per GPU that a process may use (TARGET_INFO_CUDA_DEVICE, TARGET_INFO_GPU), where the report tells.",
    (
        Column("process", "int64", "process key"),
        Column("device", "int64", "CUDA device number as that process counts"),
        Column("gpu", "int64", "the machine's own number of that GPU; -1 where unknown"),
        Column("gpu_name", "category", "product name; empty where unknown"),
    ),
)
CLOCKS = Table(
    "clocks",
    "One row per sample of a GPU's clock (GPU_METRICS, the metric GPC Clock Frequency).",
    (
        Column("time", "int64", "when it was sampled, on the report's own clock"),
        Column("gpu", "int64", "the machine's own number of the GPU"),
        Column("clock", "int64", "Hz"),
    ),
)
COLLECTIVES = Table(
    "collectives",
    "One row per communication operation: a collective as one lane saw it; made by the analysis, in order of "
    "the collective's start on its first lane, then of lane.",
    (
        _START,
        _END,
        Column("lane", "int64", "place in `lanes` of the analysis"),
        Column("step", "int64", "number of the complete step it began in; -1 where in none"),
        Column("instance", "int64", "number of the collective, the same on all its lanes"),
        Column("operation", "category", "hint from the kernel's name, such as AllReduce"),
        Column("communicator", "category", "NCCL's id where captured, else the streams that carried it"),
        Column("stream", "int64", "CUDA stream; unique only within process, device and context"),
        Column("hidden", "int64", "ns inside the lane's window behind compute"),
        Column("exposed", "int64", "ns inside the lane's window without compute"),
        Column("wait", "int64", "ns until the last lane came; -1 without partners"),
        Column("transfer", "int64", "ns from then on; -1 without partners"),
        Column("late_lane", "int64", "the lane that came last; -1 without partners or where several did"),
        Column("bytes", "int64", "size as nccl-tests counts it; -1 where no payload tells"),
        Column("ranks", "int64", "how many take part: as payloads tell, else lanes that were matched"),
        Column("algorithm_bandwidth", "float64", "bytes per second of transfer, else of its length; NaN without bytes"),
        Column("bus_bandwidth", "float64", "the same, as nccl-tests scales it; NaN where it cannot be told"),
        Column("ideal", "int64", "ns by the cost model; -1 without bytes or link"),
        Column("ideal_share", "float64", "ideal to transfer, else to its length; NaN without an ideal"),
        Column("is_matched", "bool", "it was found on other lanes"),
        Column("is_grouped", "bool", "it was launched when a group of calls ended (ncclGroupEnd, by NCCL's ranges)"),
    ),
)

TABLES = (KERNELS, COPIES, GRAPHS, CALLS, OS_CALLS, OVERHEADS, RANGES, MARKS, PAYLOADS, DEVICES, CLOCKS, COLLECTIVES)
