"""One process's records as rows of the export's tables, columns in declared order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sample_profiles.kernels import Copy, Graph, Kernel, Memset
from sample_profiles.trace import Thread
from sample_profiles.training import NCCL_DOMAIN, TOOL_DOMAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sample_profiles.trace import Call, Op, OsCall, Overhead, Process, Sync

Row = tuple[int | str | bytes | None, ...]

CAPTURE_TAIL_NS = 310_000_000
# Threads that sleep in a loop all the time: OS calls that explain no gap. (thread, call, its result, period in ns)
_SLEEPERS = (
    (Thread.WATCHDOG, "pthread_cond_timedwait", 110, 100_000_000),
    (Thread.PIN_MEMORY, "poll", 1, 50_000_000),
)
_RUNTIME, _DRIVER, _OS_RUNTIME = 0, 1, 27
_MARK, _PUSH_POP, _DOMAIN_CREATE = 34, 59, 75
_FLUSH = 3
_NO_EVENT = 4_294_967_295
_FIRST_STRING, _STRING_STRIDE = 17, 3


class Strings:
    """The StringIds table: an id for every distinct text, in order of first use."""

    def __init__(self) -> None:
        self.ids: dict[str, int] = {}

    def __getitem__(self, text: str) -> int:
        """Return the id of `text`, a new one at first sight."""
        return self.ids.setdefault(text, _FIRST_STRING + _STRING_STRIDE * len(self.ids))


def process_rows(process: Process, strings: Strings) -> dict[str, list[Row]]:
    """Return the event rows of one process by table."""
    tables: dict[str, list[Row]] = {}
    for op in process.ops:
        table, row = _op(process, op, strings)
        tables.setdefault(table, []).append(row)
    tables["CUPTI_ACTIVITY_KIND_RUNTIME"] = [_call(process, call, strings) for call in process.calls]
    tables["CUPTI_ACTIVITY_KIND_SYNCHRONIZATION"] = [_sync(process, sync) for sync in process.syncs]
    tables["OSRT_API"] = [_os_call(process, call, strings) for call in process.os_calls]
    tables["OSRT_API"] += _sleepers(process, strings)
    tables["PROFILER_OVERHEAD"] = [_first_flush(process, strings)]
    tables["PROFILER_OVERHEAD"] += [_overhead(process, overhead, strings) for overhead in process.overheads]
    tables["NVTX_EVENTS"] = list(_nvtx(process, strings))
    return tables


def _op(process: Process, op: Op, strings: Strings) -> tuple[str, Row]:
    context, green_context = 1, 0
    place = (process.device, context, green_context, op.stream, op.call.correlation, process.global_pid)
    common = (*op.span, *place)
    match op.work:
        case Kernel() as kernel:
            return "CUPTI_ACTIVITY_KIND_KERNEL", (*common, *_kernel(kernel, strings, grid_id=op.call.correlation))
        case Copy() as copy:
            devices = (None,) * 7
            detail = (copy.bytes, copy.kind, None, copy.source, copy.target, *devices, 1)
            return "CUPTI_ACTIVITY_KIND_MEMCPY", (*common, *detail)
        case Memset() as memset:
            device_memory = 2
            return "CUPTI_ACTIVITY_KIND_MEMSET", (*common, 0, memset.bytes, None, device_memory)
        case Graph() as graph:
            return "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", (*common, graph.graph, graph.instance)


def _kernel(kernel: Kernel, strings: Strings, *, grid_id: int) -> Row:
    names = (strings[kernel.name], strings[kernel.short], None)
    regular_launch, cache_config, local_memory = 1, 1, 173_015_040
    shape = (kernel.grid, 1, 1, kernel.block, 1, 1)
    memory = (0, kernel.shared_memory, 0, local_memory, grid_id, kernel.shared_memory or 32_768)
    no_cluster = (0,) * 6
    return (
        *names,
        regular_launch,
        cache_config,
        kernel.registers,
        *shape,
        *memory,
        None,
        int(kernel.shared_memory > 0),
        *(None,) * 4,
        *no_cluster,
    )


def _call(process: Process, call: Call, strings: Strings) -> Row:
    event_class = _DRIVER if call.name.startswith("cu") and not call.name.startswith("cuda") else _RUNTIME
    thread = process.thread_id(call.thread)
    return (call.start, call.end, event_class, thread, call.correlation, strings[call.name], 0, None)


def _sync(process: Process, sync: Sync) -> Row:
    call = sync.call
    place = (process.device, 1, None, sync.stream, call.correlation, process.global_pid)
    return (call.start, call.end, *place, None, sync.kind, _NO_EVENT, _NO_EVENT)


def _os_call(process: Process, call: OsCall, strings: Strings) -> Row:
    thread = process.thread_id(call.thread)
    return (call.start, call.end, _OS_RUNTIME, thread, strings[call.name], 0, None, 0, None)


def _sleepers(process: Process, strings: Strings) -> Iterator[Row]:
    last = max(op.span[1] for op in process.ops)
    for thread, name, result, period in _SLEEPERS:
        for start in range(process.began, last, period):
            end = start + period - 40_000
            yield (start, end, _OS_RUNTIME, process.thread_id(thread), strings[name], result, None, 0, None)


def _overhead(process: Process, overhead: Overhead, strings: Strings) -> Row:
    thread = process.thread_id(overhead.thread)
    return (overhead.start, overhead.end, thread, strings[overhead.name], overhead.kind)


def _first_flush(process: Process, strings: Strings) -> Row:
    """A flush before the first operation, in a thread of the profiler: outside every window."""
    thread = process.thread_id(Thread.WATCHDOG) + 1
    return (process.began - 9_000_000, process.began - 8_600_000, thread, strings["CUPTI Buffer flush"], _FLUSH)


def _nvtx(process: Process, strings: Strings) -> Iterator[Row]:
    domains = nvtx_domains(process)
    main = process.thread_id(Thread.MAIN)
    early = process.began - 5_000_000
    for name in list(domains)[1:]:
        yield _event(_DOMAIN_CREATE, (early, None), texts=(name, None), thread=main, domain=domains[name])
    who = f"rank={process.rank} local_rank={process.device} world_size={process.ranks} host={process.node}"
    yield _event(_MARK, (early + 60_000, None), texts=(who, None), thread=main, domain=domains[TOOL_DOMAIN])
    for item in process.ranges:
        # NCCL registers its names, PyTorch and scripts pass plain text (P04).
        texts = (None, strings[item.name]) if item.domain == NCCL_DOMAIN else (item.name, None)
        thread = process.thread_id(item.thread)
        domain = domains[item.domain]
        blob = item.payload.blob(domain=domain) if item.payload else None
        times = (item.start, item.end)
        yield _event(_PUSH_POP, times, texts=texts, thread=thread, domain=domain, blob=blob)


def nvtx_domains(process: Process) -> dict[str, int]:
    """Return the process's number of each NVTX domain."""
    # Every other process makes a domain of another library first, so domain numbers differ (P06).
    names = ["CCCL"] * (process.rank % 2) + [NCCL_DOMAIN, TOOL_DOMAIN]
    return {"": 0, **{name: number for number, name in enumerate(names, start=1)}}


def _event(  # noqa: PLR0913 - the columns that are ever filled
    event_type: int,
    times: tuple[int, int | None],
    *,
    texts: tuple[str | None, int | None],
    thread: int,
    domain: int,
    blob: bytes | None = None,
) -> Row:
    text, text_id = texts
    plain_values = (None,) * 8
    return (*times, event_type, None, None, None, text, thread, None, text_id, domain, *plain_values, blob)
