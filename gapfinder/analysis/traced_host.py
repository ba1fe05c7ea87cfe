"""The host side of a timeline: what every thread of a process did, nested as it was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.host_events import HostEvents
from gapfinder.analysis.host_names import launch_names
from gapfinder.tables import PROCESS_MASK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.launches import Launches
    from gapfinder.analysis.report import Report

CUDA_CALL, OS_CALL, OVERHEAD = range(3)
"""What `TracedEvents.kinds` says of a call."""

_DEEPEST = np.iinfo(np.int8).max


@dataclass(frozen=True, slots=True, eq=False)
class TracedEvents:
    """What threads did, in order of thread, then of start, then the longest first; each array has shape (n,).

    Attributes:
        starts, ends: ns.
        threads: globalTid.
        names: index into `texts`.
        depths: how many earlier events of the thread last when it begins.
        kinds: of a call CUDA_CALL, OS_CALL or OVERHEAD; of a range index into `domains`.
        domains: texts of NVTX domains; empty for calls.
    """

    starts: Int64s
    ends: Int64s
    threads: Int64s
    names: Int64s
    depths: NDArray[np.int8]
    kinds: NDArray[np.int8]
    texts: Sequence[str]
    domains: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class TracedProcess:
    """The host side of one process.

    Attributes:
        key: of the process.
        ranges: NVTX ranges; one that never ended lasts to the end of the capture.
        calls: CUDA calls, calls into the operating system, overheads.
        launching_thread: the one with most launches, else with most ranges; None without either.
        call_places: shape (n + 1,); place in `calls` of each row of its `Launches`, and -1 for row -1.
    """

    key: int
    ranges: TracedEvents
    calls: TracedEvents
    launching_thread: int | None
    call_places: Int64s


def trace_process(report: Report, process: int) -> TracedProcess:
    """Return what the threads of a process did, over the whole capture."""
    launches = report.launches.get(process)
    overheads = [events.of_process(process) for events in report.overheads.values()]
    sources = [_cuda_calls(launches, report), report.os_calls.of_process(process), *overheads]
    counts = [len(events) for events in sources]
    kinds = np.repeat(np.array([CUDA_CALL, OS_CALL] + [OVERHEAD] * len(overheads), np.int8), counts)
    calls, order = _nested(_joined(sources), kinds=kinds, domains=())
    places = np.full(counts[0] + 1, -1, np.int64)
    is_cuda = np.flatnonzero(order < counts[0])
    places[order[is_cuda]] = is_cuda
    ranges = _ranges(report, process)
    return TracedProcess(process, ranges, calls, _launching_thread(launches, report, ranges), places)


def nesting_depths(starts: Int64s, ends: Int64s) -> NDArray[np.int8]:
    """Return how many earlier events last when each begins, 127 at most; shape (n,), given in order of start."""
    finished = np.searchsorted(np.sort(np.maximum(ends, starts + 1), kind="stable"), starts, side="right")
    depths: NDArray[np.int8] = np.clip(np.arange(len(starts)) - finished, 0, _DEEPEST).astype(np.int8)
    return depths


def _cuda_calls(launches: Launches | None, report: Report) -> HostEvents:
    if launches is None:
        none = np.empty(0, np.int64)
        return HostEvents(none, none, none, none, report.call_names)
    return HostEvents(launches.starts, launches.ends, launches.threads, launches.names, report.call_names)


def _ranges(report: Report, process: int) -> TracedEvents:
    """Return the process's ranges; those that never ended get the last moment that is known."""
    profile = report.profile
    frame = profile.ranges[(profile.ranges["thread"] & PROCESS_MASK) == process]
    events = HostEvents.of(frame)
    is_open = frame["is_open"].to_numpy()
    if is_open.any():
        last = max(profile.capture_end_ns or 0, int(events.ends.max()))
        ends = np.where(is_open, np.maximum(events.starts, last), events.ends)
        events = HostEvents(events.starts, ends, events.threads, events.names, events.texts)
    domains = frame["domain"].cat.categories.tolist()
    kinds = np.minimum(frame["domain"].cat.codes.to_numpy(), _DEEPEST).astype(np.int8)
    return _nested(events, kinds=kinds, domains=domains)[0]


def _joined(sources: Sequence[HostEvents]) -> HostEvents:
    """Return all events, their texts one list after the other."""
    firsts = np.cumsum([0, *(len(events.texts) for events in sources)])
    return HostEvents(
        np.concatenate([events.starts for events in sources]),
        np.concatenate([events.ends for events in sources]),
        np.concatenate([events.threads for events in sources]),
        np.concatenate([events.names.astype(np.int64) + first for events, first in zip(sources, firsts, strict=False)]),
        [text for events in sources for text in events.texts],
    )


def _nested(events: HostEvents, *, kinds: NDArray[np.int8], domains: Sequence[str]) -> tuple[TracedEvents, Int64s]:
    """Return the events in their order with their depths, and the row that each was before."""
    order = np.empty(len(events), np.int64)
    depths = np.empty(len(events), np.int8)
    ends = np.maximum(events.starts, events.ends)
    first = 0
    for thread in np.unique(events.threads).tolist():
        rows = np.flatnonzero(events.threads == thread)
        rows = rows[_longest_first(events.starts[rows], ends[rows])]
        here = slice(first, first + len(rows))
        order[here], depths[here] = rows, nesting_depths(events.starts[rows], ends[rows])
        first += len(rows)
    columns = (events.starts[order], ends[order], events.threads[order], events.names[order].astype(np.int64))
    return TracedEvents(*columns, depths, kinds[order], events.texts, domains), order


def _longest_first(starts: Int64s, ends: Int64s) -> Int64s:
    """Return the order of start, of those at once the longest first; what is sorted already takes little time."""
    order = np.argsort(starts, kind="stable")
    sorted_starts, sorted_ends = starts[order], ends[order]
    if ((sorted_starts[1:] == sorted_starts[:-1]) & (sorted_ends[1:] > sorted_ends[:-1])).any():
        return np.lexsort((-ends, starts))
    return order


def _launching_thread(launches: Launches | None, report: Report, ranges: TracedEvents) -> int | None:
    threads = ranges.threads
    if launches is not None and len(launches.starts):
        launched = np.array([*launch_names(report.call_names), False], np.bool_)[launches.names]
        threads = launches.threads[launched] if launched.any() else launches.threads
    if len(threads) == 0:
        return None
    numbers, counts = np.unique(threads, return_counts=True)
    return int(numbers[np.argmax(counts)])
