"""Writes a timeline into its files while the reports that it comes from are measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dashboards.data.columns import ColumnWriter, File
from dashboards.data.manifest import PlacedClock, PlacedLane
from dashboards.data.trace import Clock
from gapfinder.analysis.intervals import Intervals, merge, union
from gapfinder.analysis.traces import TracedLane

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from dashboards.data.columns import Array
    from dashboards.data.trace import Int32s
    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.timeline import HoleParts
    from gapfinder.analysis.traced_host import TracedEvents, TracedProcess
    from gapfinder.analysis.traces import JoinedTraces
    from gapfinder.analysis.traces import PlacedLane as Place


class TraceWriter:
    """Takes the pieces of one report after the other, and what only a look at all of them tells at the end.

    Attributes:
        launching_threads: of each process that was written.
        domains: texts of NVTX domains that were met.
    """

    def __init__(self, folder: Path) -> None:
        self._columns = ColumnWriter(folder)
        self._codes: dict[str, int] = {}
        self._domains: dict[str, int] = {}
        self._holes: list[tuple[HoleParts, Int64s]] = []
        self._processes: list[int] = []
        self._spans: list[tuple[int, int]] = []
        self._firsts: list[int] = []
        self.launching_threads: list[int | None] = []

    @property
    def domains(self) -> tuple[str, ...]:
        """Texts of NVTX domains that were met."""
        return tuple(self._domains)

    def begin_report(self) -> None:
        """Say that the pieces of another report follow."""
        self._firsts.append(len(self._holes))

    def keep(self, piece: TracedProcess | TracedLane) -> None:
        """Write a piece."""
        if isinstance(piece, TracedLane):
            self._keep_lane(piece)
        else:
            self._keep_process(piece)

    def _keep_process(self, process: TracedProcess) -> None:
        self.launching_threads.append(process.launching_thread)
        domains = [self._domains.setdefault(text, len(self._domains)) for text in process.ranges.domains]
        kinds = np.minimum(np.array(domains, np.int64), np.iinfo(np.int8).max)[process.ranges.kinds]
        self._columns.write(File.RANGES, *self._events(process.ranges), kinds)
        self._columns.write(File.CALLS, *self._events(process.calls), process.calls.kinds)
        mine = process.calls.threads == process.launching_thread
        self._columns.write(File.CALLED, *_busy(union(process.calls.starts[mine], process.calls.ends[mine])))

    def _events(self, events: TracedEvents) -> Iterator[Array]:
        names = self._named(events.names, texts=events.texts)
        columns: tuple[Array, ...] = (events.starts, events.ends, names, events.threads, events.depths)
        yield from columns

    def _keep_lane(self, lane: TracedLane) -> None:
        covered = []
        for one in lane.operations:
            names = self._named(one.names, texts=one.texts)
            self._columns.write(File.OPERATIONS, one.starts, one.ends, names, one.streams, one.calls)
            covered.append(union(one.starts, one.ends))
        for busy in (*covered, whole := merge(*covered)):
            self._columns.write(File.BUSY, *_busy(busy))
        steps, none = lane.steps, np.empty(0, np.int64)
        if steps is None:
            self._columns.write(File.STEPS, none, none, none, none)
        else:
            names = self._named(steps.places, texts=steps.ranges.names)
            order = np.argsort(steps.starts, kind="stable")
            columns = (steps.numbers, steps.starts, steps.ends, names)
            self._columns.write(File.STEPS, *(column[order] for column in columns))
        self._holes.append((lane.holes, lane.shares))
        self._processes.append(len(self.launching_threads) - 1)
        self._spans.append((int(whole.starts[0]), int(whole.ends[-1])))

    def _named(self, names: Int64s, *, texts: Sequence[str]) -> Int32s:
        """Return names as places among all texts; a name that nothing tells is the empty text."""
        texts = [*texts, ""]
        places = np.where(names < 0, len(texts) - 1, names)
        codes = np.full(len(texts), -1, np.int32)
        for place in np.flatnonzero(np.bincount(places, minlength=len(texts))).tolist():
            codes[place] = self._codes.setdefault(texts[place], len(self._codes))
        return codes[places]

    def finish(self, joined: JoinedTraces) -> tuple[tuple[PlacedLane, ...], int, int]:
        """Write what was left, and return where the lanes are and the first and last moment on the shared clock."""
        placed, edges = [], []
        for place, lane in zip(joined.lanes, joined.analysis.lanes, strict=True):
            written = self._firsts[place.report] + place.number
            self._write_holes(*self._holes[written], place=place)
            clock = clock_of(place)
            edges += [clock.shared(time) for time in (*self._spans[written], lane.window.start_ns, lane.window.end_ns)]
            told = PlacedClock(offset_ns=clock.offset_ns, drift_ppm=clock.drift_ppm, at_ns=clock.at_ns)
            placed.append(PlacedLane(written=written, process=self._processes[written], clock=told))
        self._columns.write(File.NAMES, list(self._codes))
        self._columns.close()
        return tuple(placed), min(edges, default=0), max(edges, default=0)

    def _write_holes(self, holes: HoleParts, shares: Int64s, *, place: Place) -> None:
        shares = (shares + place.communication.within(holes.starts, holes.ends)).T
        causes = shares.argmax(axis=1) if len(shares) else np.empty(0, np.int64)
        parts = (holes.starts, holes.ends, holes.idle, holes.exposed, holes.copy_only)
        self._columns.write(File.HOLES, *parts, causes, shares)

    def close(self) -> None:
        """Give up the files, complete or not."""
        self._columns.close()


def clock_of(place: Place) -> Clock:
    """Return how a lane's own clock is read on the shared one."""
    line = place.clock
    return Clock(
        offset_ns=line.offset_ns - place.zero_ns, drift_ppm=line.drift_ppb / 1000, at_ns=line.at_ns - place.zero_ns
    )


def _busy(busy: Intervals) -> tuple[Int64s, Int64s, Int64s]:
    return busy.starts, busy.ends, np.cumsum(busy.lengths) - busy.lengths
