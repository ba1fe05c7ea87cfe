"""A prepared profile's timeline in memory-mapped columns: operations, unions, holes, steps, ranges and calls.

All times are int64 nanoseconds on the lane's own clock. The pages speak of nanoseconds since `Trace.origin_ns` on the
shared clock; `LaneTrace.clock` leads from one to the other.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd
    from numpy.typing import NDArray

    from dashboards.data.names import Names

    Int64s = NDArray[np.int64]
    Int32s = NDArray[np.int32]
    Int8s = NDArray[np.int8]


class Kind(IntEnum):
    """What a GPU operation counts as; the code in `Operations.kinds`."""

    COMPUTE = 0
    COMMUNICATION = 1
    COPY = 2
    GRAPH = 3


@dataclass(frozen=True, slots=True)
class Clock:
    """How a lane's own clock is read on the shared one: shared = own - offset_ns - drift_ppm * (own - at_ns) / 1e6."""

    offset_ns: int = 0
    drift_ppm: float = 0.0
    at_ns: int = 0

    def shared(self, own: int) -> int:
        """Return a moment of the lane's own clock on the shared clock, rounded to whole ns."""
        return own - self.offset_ns - round(self.drift_ppm * (own - self.at_ns) / 1e6)

    def own(self, shared: int) -> int:
        """Return a moment of the shared clock on the lane's own; within 1 ns the inverse of `shared`."""
        guess = shared + self.offset_ns
        return guess + round(self.drift_ppm * (guess - self.at_ns) / (1e6 - self.drift_ppm))

    def all_shared(self, own: Int64s) -> Int64s:
        """Return `shared` of many moments, shape (n,)."""
        if not self.drift_ppm:
            return own - self.offset_ns
        shared: Int64s = own - self.offset_ns - np.rint(self.drift_ppm * (own - self.at_ns) / 1e6).astype(np.int64)
        return shared

    def all_own(self, shared: Int64s) -> Int64s:
        """Return `own` of many moments, shape (n,)."""
        guess = shared + self.offset_ns
        if not self.drift_ppm:
            return guess
        own: Int64s = guess + np.rint(self.drift_ppm * (guess - self.at_ns) / (1e6 - self.drift_ppm)).astype(np.int64)
        return own


@dataclass(frozen=True, slots=True, eq=False)
class Operations:
    """Usable operations of one kind of one lane, in order of start; every array has shape (n,)."""

    starts: Int64s
    ends: Int64s
    names: Int32s  # index into Trace.names
    streams: Int32s
    calls: Int32s  # place of the launch call in its process's calls; -1 where it was not captured


@dataclass(frozen=True, slots=True, eq=False)
class Busy:
    """When at least one operation of a kind runs: the union, and the time covered before each interval.

    Attributes:
        starts, ends: shape (n,); disjoint, in order.
        before: shape (n,), ns covered before starts[i]; so F(t) is one search.
    """

    starts: Int64s
    ends: Int64s
    before: Int64s


@dataclass(frozen=True, slots=True, eq=False)
class Holes:
    """Every hole of one lane in order of time, as many as the analysis counted; shape (n,), ns.

    Attributes:
        causes: main cause; index into the members of `gapfinder.explanations.Cause`.
        shares: shape (n, causes), ns by cause; each row adds up to the hole.
    """

    starts: Int64s
    ends: Int64s
    idle: Int64s
    exposed: Int64s
    copy_only: Int64s
    causes: Int8s
    shares: Int64s


@dataclass(frozen=True, slots=True, eq=False)
class Steps:
    """All steps of one lane with GPU work, complete or not; shape (n,), in order of start."""

    numbers: Int64s
    starts: Int64s
    ends: Int64s
    names: Int32s  # index into Trace.names


@dataclass(frozen=True, slots=True, eq=False)
class Events:
    """What threads of a process did on the host, in order of thread, then of start; every array has shape (n,).

    Attributes:
        names: index into Trace.names.
        threads: globalTid.
        depths: how many earlier events of the same thread last when it begins; 0 for the outermost.
        kinds: for calls 0 CUDA, 1 operating system, 2 profiler or driver overhead; for ranges index into Trace.domains.
    """

    starts: Int64s
    ends: Int64s
    names: Int32s
    threads: Int64s
    depths: Int8s
    kinds: Int8s

    def of_thread(self, thread: int) -> slice:
        """Return the places of a thread's events."""
        first, last = self.threads.searchsorted((thread, thread + 1)).tolist()
        return slice(first, last)

    def each_thread(self) -> Iterator[int]:
        """Yield every thread that has events."""
        place = 0
        while place < len(self.threads):
            thread = int(self.threads[place])
            yield thread
            place = self.of_thread(thread).stop


@dataclass(frozen=True, slots=True, eq=False)
class ProcessTrace:
    """The host side of one process.

    Attributes:
        launching_thread: the one that launches most of its GPU work; the rows "ranges" and "calls" are about it.
        called: when that thread is in a call.
    """

    ranges: Events
    calls: Events
    launching_thread: int | None
    called: Busy


@dataclass(frozen=True, slots=True, eq=False)
class LaneTrace:
    """One lane, at its place in `Analysis.lanes`.

    Attributes:
        operations, busy: by kind; every kind is there, perhaps empty.
        holes: their times are those of Lane.holes, of the window that was measured.
        any_busy: the union of all kinds.
        process: index into Trace.processes.
    """

    operations: dict[Kind, Operations]
    busy: dict[Kind, Busy]
    any_busy: Busy
    holes: Holes
    steps: Steps
    clock: Clock
    process: int


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """One profile's timeline.

    Attributes:
        origin_ns: first moment of any lane on the shared clock; pages count from here.
        end_ns: last moment of any lane, since the origin.
        names: text of every name, each once, exactly as captured (it may hold markup); read when it is asked for.
        domains: texts of NVTX domains.
        collectives: frame COLLECTIVES (gapfinder.tables), of every instance; its times are on the lanes' own clocks.
    """

    origin_ns: int
    end_ns: int
    names: Names
    domains: tuple[str, ...]
    lanes: tuple[LaneTrace, ...]
    processes: tuple[ProcessTrace, ...]
    collectives: pd.DataFrame
