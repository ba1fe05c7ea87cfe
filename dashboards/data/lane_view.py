"""One lane in one window: what of it is in view, as marks or as shares of pixel columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dashboards.data import packing
from dashboards.data.covering import as_shares, column_edges, shares
from dashboards.data.in_view import InView, disjoint_in, events_in, longest_by_column, operations_in, shown
from dashboards.data.packing import packed
from dashboards.data.rows import OPERATIONS, Row, WindowRequest
from gapfinder.explanations import Cause

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from dashboards.data.trace import Busy, Events, Int8s, Int32s, Int64s, LaneTrace, Trace

_CODES = {cause: code for code, cause in enumerate(Cause)}
_NONE = 255


@dataclass(frozen=True, slots=True, eq=False)
class Marks:
    """What is drawn of one row by itself: places in arrays, what these hold there, and how deep it lies."""

    row: Row
    places: Int64s
    starts: Int64s
    ends: Int64s
    names: Int32s
    depths: Int8s


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """The arrays of one row, and what of them is in view; `busy` where it may become shares."""

    in_view: InView
    starts: Int64s
    ends: Int64s
    names: Int32s
    depths: Int8s | None = None
    busy: Busy | None = None


class LaneView:
    """A lane between two moments of the shared clock; marks are chosen first, as they tell how many columns fit.

    Attributes:
        sources: arrays by row, of the rows that the lane has anything of and that were asked for, but holes.
        holes: places of the holes in view that pass the request's filters; None where they were not asked for.
    """

    def __init__(self, trace: Trace, place: int, request: WindowRequest, *, start: int, end: int) -> None:
        self._place, self._lane = place, trace.lanes[place]
        self._edges = (start + trace.origin_ns, end + trace.origin_ns)
        clock = self._lane.clock
        self._start, self._end = (clock.own(edge) for edge in self._edges)
        self.sources = {row: source for row, source in self._sources(trace) if row in request.rows}
        self.holes = self._passing(request) if Row.HOLES in request.rows else None

    def count(self, *rows: Row) -> int:
        """Return how much of these rows is in view."""
        return sum(len(self.sources[row].in_view) for row in rows if row in self.sources)

    def marks(self, row: Row, *, most: int) -> Marks | None:
        """Return what is drawn of a row, `most` at most; None where the lane has nothing of it."""
        source = self.sources.get(row)
        if source is None:
            return None
        places = source.in_view.places()
        if len(places) > most:
            starts, ends = (self._inside(times[places]) for times in (source.starts, source.ends))
            depths = None if source.depths is None else source.depths[places]
            places = shown(places, starts=starts, ends=ends, depths=depths, most=most)
        levels = np.zeros(len(places), np.int8) if source.depths is None else source.depths[places]
        return Marks(row, places, source.starts[places], source.ends[places], source.names[places], levels)

    def packed_marks(self, marks: Marks) -> packing.Row:
        """Return marks as they are answered."""
        return packing.Row(
            row=marks.row,
            mode="marks",
            starts=self._times(marks.starts),
            ends=self._times(marks.ends),
            names=packed(marks.names, "i4"),
            depths=packed(marks.depths, "u1"),
            ids=packed(marks.places, "i4"),
        )

    def packed_shares(self, row: Row, *, columns: int) -> packing.Row | None:
        """Return a row's shares as they are answered; None where the lane has nothing of it."""
        source = self.sources.get(row)
        if source is None or source.busy is None:
            return None
        return packing.Row(row=row, mode="share", share=packed(shares(source.busy, self._columns(columns)), "u1"))

    def packed_holes(self, *, most: int, columns: int) -> packing.Holes | None:
        """Return the holes as they are answered, `most` of them at most; None where they were not asked for."""
        if self.holes is None:
            return None
        every, places = self._lane.holes, self.holes
        starts, ends = every.starts[places], every.ends[places]
        edges = self._columns(columns)
        chosen = shown(
            np.arange(len(places)), starts=self._inside(starts), ends=self._inside(ends), depths=None, most=most
        )
        lost, longest = _by_column(starts, ends, every.causes[places], edges)
        return packing.Holes(
            starts=self._times(starts[chosen]),
            ends=self._times(ends[chosen]),
            causes=packed(every.causes[places[chosen]], "u1"),
            ids=packed(places[chosen], "i4"),
            shown=len(chosen),
            of=len(places),
            lost=packed(lost, "u1"),
            longest=packed(longest, "u1"),
        )

    def _sources(self, trace: Trace) -> Iterator[tuple[Row, _Source]]:
        lane, start, end = self._lane, self._start, self._end
        steps = lane.steps
        if len(steps.starts):
            in_view = disjoint_in(steps, start=start, end=end)
            yield Row.STEPS, _Source(in_view, steps.starts, steps.ends, steps.names)
        for row, kind in OPERATIONS.items():
            one, busy = lane.operations[kind], lane.busy[kind]
            if len(one.starts):
                in_view = operations_in(one, busy, start=start, end=end)
                yield row, _Source(in_view, one.starts, one.ends, one.names, busy=busy)
        process = trace.processes[lane.process]
        rows: tuple[tuple[Row, Events, Busy | None], ...] = (
            (Row.RANGES, process.ranges, None),
            (Row.CALLS, process.calls, process.called),
        )
        for row, events, called in rows:
            thread = process.launching_thread
            if thread is not None and events.of_thread(thread) != slice(0, 0):
                in_view = events_in(events, thread, start=start, end=end)
                yield row, _Source(in_view, events.starts, events.ends, events.names, events.depths, called)

    def _passing(self, request: WindowRequest) -> Int64s:
        holes = self._lane.holes
        places = disjoint_in(holes, start=self._start, end=self._end).places()
        if request.min_hole_ns:
            places = places[holes.ends[places] - holes.starts[places] >= request.min_hole_ns]
        if request.causes:
            places = places[np.isin(holes.causes[places], [_CODES[cause] for cause in request.causes])]
        return places

    def _columns(self, columns: int) -> Int64s:
        """Return the edges of pixel columns on the lane's own clock."""
        return self._lane.clock.all_own(column_edges(*self._edges, columns=columns))

    def _inside(self, times: Int64s) -> Int64s:
        """Return times moved to the window's edge where they lie outside."""
        return np.clip(times, self._start, self._end)

    def _times(self, own: Int64s) -> packing.Packed:
        return packed(self._lane.clock.all_shared(own) - self._edges[0], "f8")


def _by_column(
    starts: Int64s, ends: Int64s, causes: Int8s, edges: Int64s
) -> tuple[NDArray[np.uint8], NDArray[np.uint8]]:
    """Return what share of each column is hole, and the cause of the longest hole in it, _NONE where there is none."""
    columns = len(edges) - 1
    longest = np.full(columns, _NONE, np.uint8)
    if len(starts) == 0:
        return np.zeros(columns, np.uint8), longest
    lengths = ends - starts
    before = np.append(0, np.cumsum(lengths))
    begun = starts.searchsorted(edges)
    last = np.maximum(begun - 1, 0)
    covered = np.where(begun > 0, before[last] + np.minimum(edges, ends[last]) - starts[last], 0)
    # the hole that a column begins in, unless a longer one begins in the column
    is_running = (begun[:-1] > 0) & (ends[last[:-1]] > edges[:-1])
    best = np.where(is_running, lengths[last[:-1]], 0)
    longest[is_running] = causes[last[:-1]][is_running]
    at, places = longest_by_column(starts, lengths, edges)
    is_longer = lengths[places] > best[at]
    longest[at[is_longer]] = causes[places[is_longer]]
    return as_shares(np.diff(covered), np.diff(edges)), longest
