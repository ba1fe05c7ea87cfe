"""Which operations, events and holes have a part in a stretch of time, and which of too many are shown."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dashboards.data.covering import column_edges, longest_by_column

if TYPE_CHECKING:
    from dashboards.data.trace import Busy, Events, Holes, Int8s, Int64s, Operations, Steps

_FIRST_LOOK, _GROWTH = 256, 4


@dataclass(frozen=True, slots=True, eq=False)
class InView:
    """Places, in an array that is sorted by start, of what has a part in a stretch.

    Attributes:
        running: of what began before and lasts; shape (n,), in order.
        first, last: of what begins in it.
    """

    running: Int64s
    first: int
    last: int

    def __len__(self) -> int:
        return len(self.running) + self.last - self.first

    def places(self, chosen: Int64s | None = None) -> Int64s:
        """Return all of them, in order; or some, which are chosen by how many come before, in order."""
        if chosen is None:
            return np.concatenate([self.running, np.arange(self.first, self.last)])
        before = len(self.running)
        began = int(chosen.searchsorted(before))
        return np.concatenate([self.running[chosen[:began]], chosen[began:] + (self.first - before)])


def operations_in(operations: Operations, busy: Busy, *, start: int, end: int) -> InView:
    """Return the operations of one kind with a part in [start, end); an instant counts where it lies."""
    first, last = operations.starts.searchsorted((start, end)).tolist()
    at = int(busy.starts.searchsorted(start)) - 1
    if at < 0 or busy.ends[at] <= start:
        return InView(np.empty(0, np.int64), first, last)
    # whatever still runs began in the same stretch of the union
    earliest = int(operations.starts.searchsorted(int(busy.starts[at])))
    return InView(_lasting(operations.ends, earliest, first, start), first, last)


def events_in(events: Events, thread: int | None, *, start: int, end: int) -> InView:
    """Return the events of a thread with a part in [start, end); none of no thread."""
    if thread is None:
        return InView(np.empty(0, np.int64), 0, 0)
    own = events.of_thread(thread)
    first, last = (own.start + events.starts[own].searchsorted((start, end))).tolist()
    earliest = _outermost_before(events.depths, own.start, first)
    return InView(_lasting(events.ends, earliest, first, start), first, last)


def holes_in(holes: Holes, *, start: int, end: int) -> slice:
    """Return the places of the holes, which do not overlap, with a part in [start, end)."""
    first, last = int(holes.ends.searchsorted(start, side="right")), int(holes.starts.searchsorted(end))
    return slice(first, max(first, last))


def steps_in(steps: Steps, *, start: int, end: int) -> InView:
    """Return the steps, which may overlap, with a part in [start, end)."""
    return InView(np.flatnonzero((steps.starts < end) & (steps.ends > start)), 0, 0)


@dataclass(frozen=True, slots=True)
class Stretch:
    """A stretch of time; what reaches out of it counts with its part inside."""

    start: int
    end: int


@dataclass(frozen=True, slots=True, eq=False)
class Spans:
    """Everything of a row, in order of start; each array has shape (n,). `depths` is None where there is one level."""

    starts: Int64s
    ends: Int64s
    depths: Int8s | None = None


def shown(in_view: InView, *, of: Spans, within: Stretch, most: int) -> Int64s:
    """Return at most `most` places, in order: whole levels from the outermost in, then the longest of the next.

    Of a level that does not fit, the longest in each of as many equal parts of the time as there is room for.

    Args:
        in_view: what has a part in the stretch, as places in `of`.
        of: what the places are places in.
        within: the stretch that is in view.
        most: how many.
    """
    if len(in_view) <= most:
        return in_view.places()
    if of.depths is None:
        places = in_view.places()
        return places[_longest(of.starts[places], of.ends[places], within=within, parts=most)]
    levels = np.concatenate([of.depths[in_view.running], of.depths[in_view.first : in_view.last]])
    kept: list[Int64s] = []
    for level in range(int(levels.max()) + 1):
        room = most - sum(map(len, kept))
        places = in_view.places(np.flatnonzero(levels == level))
        if len(places) > room:
            kept.append(places[_longest(of.starts[places], of.ends[places], within=within, parts=room)])
            break
        kept.append(places)
    return np.sort(np.concatenate(kept))


def _longest(starts: Int64s, ends: Int64s, *, within: Stretch, parts: int) -> Int64s:
    """Return the place of the longest that begins in each of equal parts of the time; starts are in order.

    Both arrays are the caller's to lose: large ones cost more to make than to fill.
    """
    if parts < 1:
        return np.empty(0, np.int64)
    np.maximum(starts, within.start, out=starts)
    np.minimum(ends, within.end, out=ends)
    edges = column_edges(int(starts[0]), int(ends.max()) + 1, columns=parts)
    ends -= starts
    return longest_by_column(starts, ends, edges)[1]


def _lasting(ends: Int64s, first: int, last: int, time: int) -> Int64s:
    """Return which places of [first, last) end after a moment."""
    return first + np.flatnonzero(ends[first:last] > time)


def _outermost_before(depths: Int8s, first: int, last: int) -> int:
    """Return the last place in [first, last) with nothing around it: what began before it has ended; else `first`."""
    size = _FIRST_LOOK
    while last > first:
        begin = max(first, last - size)
        found = np.flatnonzero(depths[begin:last] == 0)
        if len(found):
            return begin + int(found[-1])
        last, size = begin, size * _GROWTH
    return first
