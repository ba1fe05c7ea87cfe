"""What the threads of one process did that can hold up their launches, and how much of it lies in a stretch of time."""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gapfinder.analysis.copies import pageable_copies
from gapfinder.analysis.host_events import CAUSES, HostEvents, Layers
from gapfinder.analysis.host_names import (
    asynchronous_copy_names,
    call_causes,
    graph_launch_names,
    launch_names,
)
from gapfinder.analysis.intervals import EMPTY, Intervals, Measure, intersect, merge, subtract, union
from gapfinder.analysis.launches import rows_by_code
from gapfinder.explanations import Cause

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.report import Report

# From the most telling down. What the profiler did is not the program's; a range that says what it is for explains the
# calls in it, all but allocations, which tell as much; a call explains what it does in the operating system.
PRECEDENCE = (
    Cause.PROFILER_OVERHEAD,
    Cause.WARM_UP,
    Cause.GARBAGE_COLLECTION,
    Cause.CHECKPOINT,
    Cause.ALLOCATOR,
    Cause.DATA_LOADING,
    Cause.SYNCHRONISATION,
    Cause.OS_CALL,
)
_OVERHEADS = PRECEDENCE[:2]
CLOSE_CALLS_NS = 100_000
"""The longest time between two CUDA calls of a thread that is still busy launching: a framework prepares an operation
in 5 to 50 µs. In a longer silence the host did something else."""
_NONE = np.empty(0, np.int64)
# A launch takes about 5 µs, and a few hundred when the machine is busy.
_LOADING_NS = 1_000_000


@dataclass(frozen=True, slots=True, eq=False)
class _Thread:
    """A thread that launches.

    Attributes:
        rows: of its CUDA calls, in order of start.
        returned: the latest end of each of them and those before it, ns.
        sleeps: its calls into the operating system, without those in which another thread that launches worked.
        sets: what it did, by cause; under LAUNCH_BOUND, its CUDA calls and the time between those close together.
        own: the same in order of precedence.
        with_others: what it did, and where that explains nothing, what the other threads that launch did.
    """

    rows: Int64s
    returned: Int64s
    sleeps: HostEvents
    sets: Mapping[Cause, Intervals]
    own: Layers
    with_others: Layers


class HostTime:
    """What the threads of one process did.

    Threads of a training hand over to each other: autograd's thread launches backward while the main thread, which
    called it, sleeps. So time before a thread took over is explained by what the others did, where its own tells
    nothing; and a sleep in which another thread that launches makes calls explains nothing at all.

    Attributes:
        overheads: of profiler and driver by cause, of every thread of the process.
        ranges: garbage collection, checkpoints and data loading, by cause.
        calls: CUDA calls by cause, those that explain an idle GPU.
        graph_launches: when calls began that launched a CUDA graph of which nothing was recorded; in order.
    """

    def __init__(self, report: Report, process: int) -> None:
        launches = report.launches.get(process)
        self._calls = HostEvents(_NONE, _NONE, _NONE, _NONE, report.call_names)
        if launches is not None:
            self._calls = HostEvents(
                launches.starts, launches.ends, launches.threads, launches.names, report.call_names
            )
        self.overheads = {cause: events.of_process(process) for cause, events in report.overheads.items()}
        self.ranges = {cause: events.of_process(process) for cause, events in report.telling_ranges.items()}
        names = self._calls.texts
        self.calls = self._calls.by_cause(call_causes(names))
        blocking = _blocking_copies(report, process)
        blocking = blocking[self._calls.named(asynchronous_copy_names(names))[blocking]]
        self._add_calls(Cause.SYNCHRONISATION, blocking)
        self._add_calls(Cause.WARM_UP, _first_launches(report, process))
        self.graph_launches = _NONE
        if process in report.unseen_work:
            self.graph_launches = np.sort(self._calls.starts[self._calls.named(graph_launch_names(names))])
        self._runs = _NONE
        self._threads = self._launching_threads(report.os_calls)
        self._anywhere = Layers(
            (cause, self.overheads[cause].covered()) for cause in _OVERHEADS if cause in self.overheads
        )

    def _add_calls(self, cause: Cause, rows: Int64s) -> None:
        """Charge these calls, too, to a cause; a row may come more than once."""
        if len(rows):
            named = self._calls.named(one is cause for one in call_causes(self._calls.texts))
            named[rows] = True
            self.calls[cause] = self._calls.select(named)

    @property
    def threads(self) -> list[int]:
        """The threads that launch GPU work."""
        return list(self._threads)

    def explained(self, starts: Int64s, ends: Int64s, *, threads: Int64s, anchors: Int64s) -> Int64s:
        """Return how much of each [start, end) something explains that a thread did; shape (causes, n), ns.

        Args:
            starts: shape (n,), ns.
            ends: shape (n,), ns; where it is not after the start there is nothing to explain.
            threads: shape (n,); of one that does not launch, only what the profiler did is told.
            anchors: shape (n,); when the thread's call began that ended the wait.
        """
        shares = np.zeros((len(CAUSES), len(starts)), np.int64)
        for number in np.unique(threads[ends > starts]).tolist():
            rows = np.flatnonzero((threads == number) & (ends > starts))
            begin, end = starts[rows], ends[rows]
            thread = self._threads.get(number)
            if thread is None:
                shares[:, rows] = self._anywhere.within(begin, end)
                continue
            took_over = np.clip(self._took_over(anchors[rows]), begin, end)
            shares[:, rows] = thread.with_others.within(begin, took_over) + thread.own.within(took_over, end)
        return shares

    def times_of(
        self, cause: Cause | None, starts: Int64s, ends: Int64s, *, threads: Int64s, anchors: Int64s
    ) -> list[tuple[int, Intervals]]:
        """Return when in any [start, end) a launching thread did what `explained` charges to a cause.

        For None it is the time that nothing explains, of each thread that was asked. Arguments are as in `explained`.
        """
        found = []
        for number in np.unique(threads[ends > starts]).tolist():
            thread = self._threads.get(number)
            if thread is None:
                continue
            rows = threads == number
            begin, end = starts[rows], ends[rows]
            took_over = np.clip(self._took_over(anchors[rows]), begin, np.maximum(begin, end))
            before, after = union(begin, took_over), union(took_over, end)
            shared = thread.with_others.times_of(cause, before)
            own = shared if cause is None else intersect(thread.sets[cause], shared)
            found.append((number, merge(own, thread.own.times_of(cause, after))))
            rest = shared if cause is None else subtract(shared, own)
            found += [
                (other, rest if cause is None else intersect(one.sets[cause], rest))
                for other, one in self._threads.items()
                if other != number
            ]
        return found

    def calls_in(self, thread: int, start: int, end: int) -> list[HostEvents]:
        """Return the CUDA and OS calls of a launching thread that have a part in [start, end); none of another one."""
        if thread not in self._threads:
            return []
        rows, returned = self._threads[thread].rows, self._threads[thread].returned
        first = int(np.searchsorted(returned, start, side="right"))
        last = bisect_left(rows, end, key=self._calls.starts.__getitem__)
        near = self._calls.select(rows[first:last])
        return [
            events.select((events.starts < end) & (events.ends > start))
            for events in (near, self._threads[thread].sleeps)
        ]

    def _took_over(self, anchors: Int64s) -> Int64s:
        """Return since when, up to the call at each anchor, no other thread made one."""
        if len(self._runs) == 0:
            return np.full(len(anchors), np.iinfo(np.int64).min)
        return self._runs[np.maximum(np.searchsorted(self._runs, anchors, side="right") - 1, 0)]

    def _launching_threads(self, os_calls: HostEvents) -> dict[int, _Thread]:
        calls = self._calls
        codes, numbers = pd.factorize(calls.threads)
        launching = np.bincount(codes[calls.named(launch_names(calls.texts))], minlength=len(numbers))
        rows = {
            thread: mine[np.argsort(calls.starts[mine], kind="stable")]
            for thread, mine, count in zip(numbers.tolist(), rows_by_code(codes, len(numbers)), launching, strict=True)
            if count
        }
        rows = dict(sorted(rows.items()))
        everything = _NONE
        if len(rows) > 1:
            merged = np.concatenate([*rows.values()])
            merged = merged[np.argsort(calls.starts[merged], kind="stable")]
            everything, owners = calls.starts[merged], calls.threads[merged]
            self._runs = everything[np.append(True, owners[1:] != owners[:-1])]
        sleeps = {
            thread: _sleeps(os_calls.of_thread(thread), own=calls.starts[mine], everything=everything)
            for thread, mine in rows.items()
        }
        sets = {thread: self._sets(thread, rows[thread], sleeps[thread]) for thread in rows}
        at_work = {thread: _closed(self._calls.select(mine)) for thread, mine in rows.items()}
        everyone = [(cause, merge(*(one[cause] for one in sets.values()))) for cause in PRECEDENCE]
        everyone.append((Cause.LAUNCH_BOUND, merge(*at_work.values())))
        return {
            thread: _Thread(
                rows[thread],
                np.maximum.accumulate(calls.ends[rows[thread]]),
                sleeps[thread],
                {**own, Cause.LAUNCH_BOUND: at_work[thread]},
                Layers([*own.items(), (Cause.LAUNCH_BOUND, at_work[thread])]),
                Layers([*own.items(), *everyone]),
            )
            for thread, own in sets.items()
        }

    def _sets(self, thread: int, rows: Int64s, sleeps: HostEvents) -> dict[Cause, Intervals]:
        """Return what one thread did, by cause in order of precedence."""
        sources: tuple[Mapping[Cause, HostEvents], ...] = (self.overheads, self.ranges, self.calls)
        sets = {
            cause: merge(*(source[cause].of_thread(thread).covered() for source in sources if cause in source))
            for cause in PRECEDENCE
        }
        sets[Cause.PROFILER_OVERHEAD] = merge(sets[Cause.PROFILER_OVERHEAD], self._blocked_by_profiler(rows))
        sets[Cause.OS_CALL] = sleeps.covered()
        return sets

    def _blocked_by_profiler(self, rows: Int64s) -> Intervals:
        """Return when a thread with these calls was in one while the profiler worked on another thread.

        A call that is traced waits as long as the profiler's own thread holds the buffers.
        """
        if Cause.PROFILER_OVERHEAD not in self.overheads:
            return EMPTY
        at_work = self.overheads[Cause.PROFILER_OVERHEAD].covered()
        calls = self._calls.select(rows)
        met = calls.select(Measure(at_work).within(calls.starts, np.maximum(calls.starts, calls.ends)) > 0)
        return intersect(met.covered(), at_work)


def _closed(calls: HostEvents) -> Intervals:
    """Return when a thread with these calls was in one or between two that are close together."""
    ends = np.maximum(calls.starts, calls.ends)
    busy = union(calls.starts, ends + CLOSE_CALLS_NS)
    return Intervals(busy.starts, busy.ends - CLOSE_CALLS_NS)


def _blocking_copies(report: Report, process: int) -> Int64s:
    """Return the rows of the process's calls that copied from or to pageable memory: they wait whatever their name."""
    launches, copies = report.launches.get(process), report.profile.copies
    if launches is None:
        return _NONE
    is_pageable = pageable_copies(copies) & (copies["process"].to_numpy() == process)
    rows = launches.rows_of(copies["correlation"].to_numpy()[is_pageable])
    return rows[rows >= 0]


def _first_launches(report: Report, process: int) -> Int64s:
    """Return the rows of long calls that launched a kernel for the first time, when its code is loaded."""
    launches, kernels = report.launches.get(process), report.profile.kernels
    if launches is None or len(kernels) == 0:
        return _NONE
    mine = np.flatnonzero(kernels["process"].to_numpy() == process)
    starts, names = kernels["start"].to_numpy()[mine], kernels["name"].cat.codes.to_numpy()[mine]
    earliest = np.full(len(report.kernel_names), np.iinfo(np.int64).max)
    np.minimum.at(earliest, names, starts)
    rows = launches.rows_of(kernels["correlation"].to_numpy()[mine[starts == earliest[names]]])
    rows = rows[rows >= 0]
    return rows[launches.ends[rows] - launches.starts[rows] >= _LOADING_NS]


def _sleeps(os_calls: HostEvents, *, own: Int64s, everything: Int64s) -> HostEvents:
    """Return a thread's calls into the operating system in which no other thread that launches made a CUDA call.

    Args:
        os_calls: the thread's.
        own: when its CUDA calls began, in order.
        everything: when those of all threads that launch began, in order; empty where there is only one.
    """
    begun = [
        np.searchsorted(starts, os_calls.ends) - np.searchsorted(starts, os_calls.starts)
        for starts in (own, everything)
    ]
    return os_calls.select(begun[0] == begun[1]) if len(everything) else os_calls
