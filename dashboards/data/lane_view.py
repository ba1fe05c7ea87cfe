"""One lane in one window: what of it is in view, as marks or as shares of pixel columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from dashboards.data import packing
from dashboards.data.covering import column_edges, holes_by_column, shares
from dashboards.data.in_view import InView, events_in, holes_in, operations_in, shown, steps_in
from dashboards.data.packing import packed
from dashboards.data.rows import OPERATIONS, Row, WindowRequest
from gapfinder.explanations import Cause

if TYPE_CHECKING:
    from collections.abc import Iterator

    from dashboards.data.trace import Busy, Events, Holes, Int8s, Int32s, Int64s, Trace

_CODES = {cause: code for code, cause in enumerate(Cause)}


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


@dataclass(frozen=True, slots=True, eq=False)
class HolesInView:
    """Holes that have a part in a window and pass a request's filters, in order; each array has shape (n,)."""

    places: Int64s
    starts: Int64s
    ends: Int64s
    causes: Int8s

    @classmethod
    def of(cls, holes: Holes, request: WindowRequest, start: int, end: int) -> HolesInView:
        """Take those of one lane in [start, end) on its own clock."""
        some = holes_in(holes, start=start, end=end)
        places = np.arange(some.start, some.stop)
        found = cls(places, holes.starts[some], holes.ends[some], holes.causes[some])
        if not request.min_hole_ns and not request.causes:
            return found
        passes = found.ends - found.starts >= request.min_hole_ns
        if request.causes:
            passes &= np.isin(found.causes, [_CODES[cause] for cause in request.causes])
        return cls(places[passes], found.starts[passes], found.ends[passes], found.causes[passes])

    def __len__(self) -> int:
        return len(self.places)


class LaneView:
    """A lane between two moments of the shared clock; marks are chosen first, as they tell how many columns fit.

    Attributes:
        sources: arrays by row, of the rows that the lane has anything of and that were asked for, but holes.
        holes: those in view that pass the request's filters; None where they were not asked for.
    """

    def __init__(self, trace: Trace, place: int, request: WindowRequest, *, start: int, end: int) -> None:
        self._place, self._lane = place, trace.lanes[place]
        self._edges = (start + trace.origin_ns, end + trace.origin_ns)
        clock = self._lane.clock
        self._start, self._end = (clock.own(edge) for edge in self._edges)
        self.sources = {row: source for row, source in self._sources(trace) if row in request.rows}
        self.holes = (
            HolesInView.of(self._lane.holes, request, self._start, self._end) if Row.HOLES in request.rows else None
        )

    def count(self, row: Row) -> int:
        """Return how much of a row is in view."""
        source = self.sources.get(row)
        return 0 if source is None else len(source.in_view)

    def marks(self, row: Row, *, most: int) -> Marks:
        """Return what is drawn of a row that the lane has, `most` at most."""
        source = self.sources[row]
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

    def packed_holes(self, *, most: int) -> packing.Holes | None:
        """Return the holes as they are answered, `most` of them, no shares yet; None where they were not asked for."""
        holes = self.holes
        if holes is None:
            return None
        chosen = np.arange(len(holes))
        if len(holes) > most:
            starts, ends = self._inside(holes.starts), self._inside(holes.ends)
            chosen = shown(chosen, starts=starts, ends=ends, depths=None, most=most)
        return packing.Holes(
            starts=self._times(holes.starts[chosen]),
            ends=self._times(holes.ends[chosen]),
            causes=packed(holes.causes[chosen], "u1"),
            ids=packed(holes.places[chosen], "i4"),
            shown=len(chosen),
            of=len(holes),
        )

    def columns(self, columns: int) -> Int64s:
        """Return the edges of pixel columns on the lane's own clock; shape (columns + 1,), ns."""
        return self._lane.clock.all_own(column_edges(*self._edges, columns=columns))

    def packed_shares(self, row: Row, edges: Int64s) -> packing.Row:
        """Return how much of each column a row covers."""
        busy = self.sources[row].busy
        share = np.zeros(len(edges) - 1, np.uint8) if busy is None else shares(busy, edges)
        return packing.Row(row=row, mode="share", share=packed(share, "u1"))

    def with_shares(self, packed_holes: packing.Holes, edges: Int64s) -> packing.Holes:
        """Return the packed holes with what all holes that pass cover of each column."""
        if self.holes is None:
            return packed_holes
        lost, longest = holes_by_column(self.holes.starts, self.holes.ends, self.holes.causes, edges)
        return msgspec.structs.replace(packed_holes, lost=packed(lost, "u1"), longest=packed(longest, "u1"))

    def _sources(self, trace: Trace) -> Iterator[tuple[Row, _Source]]:
        lane, start, end = self._lane, self._start, self._end
        steps = lane.steps
        if len(steps.starts):
            in_view = steps_in(steps, start=start, end=end)
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
            if thread is not None and len(events.starts[events.of_thread(thread)]):
                in_view = events_in(events, thread, start=start, end=end)
                yield row, _Source(in_view, events.starts, events.ends, events.names, events.depths, called)

    def _inside(self, times: Int64s) -> Int64s:
        """Return times moved to the window's edge where they lie outside."""
        return np.clip(times, self._start, self._end)

    def _times(self, own: Int64s) -> packing.Packed:
        return packed(self._lane.clock.all_shared(own) - self._edges[0], "f8")
