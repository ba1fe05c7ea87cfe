"""One lane in one window: what of it is in view, as marks or as shares of pixel columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from dashboards.data import packing
from dashboards.data.covering import column_edges, longest_holes
from dashboards.data.in_view import InView, Spans, Stretch, events_in, holes_in, operations_in, shown, steps_in
from dashboards.data.packing import packed
from dashboards.data.rows import OPERATIONS, Row, WindowRequest
from dashboards.data.trace import Busy
from gapfinder.explanations import Cause

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from numpy.typing import NDArray

    from dashboards.data.trace import Events, Holes, Int8s, Int32s, Int64s, Trace

_ORDER = {str(row): place for place, row in enumerate(Row)}
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
    streams: Int32s | None


@dataclass(frozen=True, slots=True, eq=False)
class _Source:
    """The arrays of one row, and what of them is in view; `busy` where it may become shares."""

    in_view: InView
    starts: Int64s
    ends: Int64s
    names: Int32s
    streams: Int32s | None = None
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

    @property
    def all(self) -> InView:
        """All of them, as places in the arrays of this."""
        return InView(np.empty(0, np.int64), 0, len(self))


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
        within = Stretch(self._start, self._end)
        of = Spans(source.starts, source.ends, source.depths)
        places = shown(source.in_view, of=of, within=within, most=most)
        levels = np.zeros(len(places), np.int8) if source.depths is None else source.depths[places]
        streams = None if source.streams is None else source.streams[places]
        return Marks(row, places, source.starts[places], source.ends[places], source.names[places], levels, streams)

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
            streams=None if marks.streams is None else packed(marks.streams, "i4"),
        )

    def packed_holes(self, *, most: int) -> packing.Holes | None:
        """Return the holes as they are answered, `most` of them, no shares yet; None where they were not asked for."""
        holes = self.holes
        if holes is None:
            return None
        within = Stretch(self._start, self._end)
        of = Spans(holes.starts, holes.ends)
        chosen = shown(holes.all, of=of, within=within, most=most)
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

    def covering(self, row: Row) -> Busy | None:
        """Return what of a row covers pixel columns; None where the lane has no such row, or it was not asked for."""
        if row is not Row.HOLES:
            return self.sources[row].busy if row in self.sources else None
        holes = self.holes
        if holes is None:
            return None
        lengths = holes.ends - holes.starts
        return Busy(holes.starts, holes.ends, np.cumsum(lengths) - lengths)

    def completed(self, lane: packing.Lane, shares: Mapping[Row, NDArray[np.uint8]], edges: Int64s) -> packing.Lane:
        """Return the packed lane with its shares beside its marks; those of holes are of all that pass."""
        rows = [
            packing.Row(row=row, mode="share", share=packed(share, "u1"))
            for row, share in shares.items()
            if row is not Row.HOLES
        ]
        holes = lane.holes
        if self.holes is not None and holes is not None:
            longest = longest_holes(self.holes.starts, self.holes.ends, self.holes.causes, edges)
            lost = packed(shares[Row.HOLES], "u1")
            holes = msgspec.structs.replace(holes, lost=lost, longest=packed(longest, "u1"))
        return packing.Lane(
            lane=lane.lane, rows=sorted([*lane.rows, *rows], key=lambda row: _ORDER[row.row]), holes=holes
        )

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
                yield row, _Source(in_view, one.starts, one.ends, one.names, one.streams, busy=busy)
        process = trace.processes[lane.process]
        rows: tuple[tuple[Row, Events, Busy | None], ...] = (
            (Row.RANGES, process.ranges, None),
            (Row.CALLS, process.calls, process.called),
        )
        for row, events, called in rows:
            thread = process.launching_thread
            if thread is not None and len(events.starts[events.of_thread(thread)]):
                in_view = events_in(events, thread, start=start, end=end)
                yield row, _Source(in_view, events.starts, events.ends, events.names, None, events.depths, called)

    def _times(self, own: Int64s) -> packing.Packed:
        return packed(self._lane.clock.all_shared(own) - self._edges[0], "f8")
