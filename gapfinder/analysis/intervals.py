"""Interval algebra on int64 nanoseconds: sets of half-open intervals as two sorted numpy arrays."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.budget import Window

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Bools = NDArray[np.bool_]
    Int64s = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Intervals:
    """A set of points in time: disjoint intervals [start, end) that do not touch, in order of time.

    Attributes:
        starts: shape (n,), ns, strictly increasing.
        ends: shape (n,), ns; starts[i] < ends[i] < starts[i + 1].
    """

    starts: Int64s
    ends: Int64s

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> Int64s:
        """Length of each interval, shape (n,), ns."""
        return self.ends - self.starts

    @property
    def total(self) -> int:
        """Length of the whole set in ns."""
        return int(self.lengths.sum())

    def holds(self, times: Int64s) -> Bools:
        """Say which of `times` (ns, any shape and order) lie in the set."""
        if len(self) == 0:
            return np.zeros(times.shape, np.bool_)
        place = np.searchsorted(self.starts, times, side="right") - 1
        inside: Bools = (place >= 0) & (times < self.ends[place])
        return inside

    def at_least(self, length: int) -> Intervals:
        """Return the intervals that are `length` ns long or longer."""
        keep = self.lengths >= length
        return Intervals(self.starts[keep], self.ends[keep])


EMPTY = Intervals(np.empty(0, np.int64), np.empty(0, np.int64))


def union(starts: Int64s, ends: Int64s) -> Intervals:
    """Return the set covered by any of the intervals, given in any order; those without length add nothing.

    Args:
        starts: shape (n,), ns.
        ends: shape (n,), ns.
    """
    has_length = ends > starts
    if not has_length.all():
        starts, ends = starts[has_length], ends[has_length]
    if len(starts) == 0:
        return EMPTY
    if (starts[1:] < starts[:-1]).any():
        order = np.argsort(starts, kind="stable")
        starts, ends = starts[order], ends[order]
    latest_end = np.maximum.accumulate(ends)
    opens = np.empty(len(starts), np.bool_)
    opens[0] = True
    np.greater(starts[1:], latest_end[:-1], out=opens[1:])
    closes = np.append(np.flatnonzero(opens)[1:] - 1, len(starts) - 1)
    return Intervals(starts[opens], latest_end[closes])


def merge(*sets: Intervals) -> Intervals:
    """Return the set covered by any of `sets`."""
    filled = [one for one in sets if len(one)]
    if len(filled) <= 1:
        return filled[0] if filled else EMPTY
    return union(np.concatenate([s.starts for s in filled]), np.concatenate([s.ends for s in filled]))


def complement(inside: Intervals, *, window: Window) -> Intervals:
    """Return what `window` has outside of the set."""
    inside = clip(inside, window=window)
    starts = np.concatenate([np.array([window.start_ns], np.int64), inside.ends])
    ends = np.concatenate([inside.starts, np.array([window.end_ns], np.int64)])
    has_length = ends > starts
    return Intervals(starts[has_length], ends[has_length])


def clip(one: Intervals, *, window: Window) -> Intervals:
    """Return the part of the set inside `window`; an interval that crosses its edge is cut there."""
    first = int(np.searchsorted(one.ends, window.start_ns, side="right"))
    last = int(np.searchsorted(one.starts, window.end_ns, side="left"))
    if first >= last:
        return EMPTY
    starts, ends = one.starts[first:last].copy(), one.ends[first:last].copy()
    starts[0] = max(int(starts[0]), window.start_ns)
    ends[-1] = min(int(ends[-1]), window.end_ns)
    return Intervals(starts, ends)


def intersect(one: Intervals, other: Intervals) -> Intervals:
    """Return what both sets cover."""
    first = np.searchsorted(one.ends, other.starts, side="right")
    count = np.maximum(np.searchsorted(one.starts, other.ends, side="left") - first, 0)
    pair = np.repeat(np.arange(len(other)), count)
    place = np.arange(len(pair)) - np.repeat(np.cumsum(count) - count - first, count)
    starts, ends = np.maximum(one.starts[place], other.starts[pair]), np.minimum(one.ends[place], other.ends[pair])
    return Intervals(starts, ends)


def subtract(one: Intervals, other: Intervals) -> Intervals:
    """Return what the first set covers and the second does not."""
    if len(one) == 0:
        return EMPTY
    span = Window(start_ns=int(one.starts[0]), end_ns=int(one.ends[-1]))
    return intersect(one, complement(other, window=span))


def painted(starts: Int64s, ends: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Lay intervals over one another in the order given and return what is seen: each moment shows the last one there.

    Every interval is painted as the two overlapping blocks, as long as the largest power of two that fits, that cover
    it; blocks are then halved from the longest down, so that any n intervals take n log n steps.

    Args:
        starts: shape (n,), ns.
        ends: shape (n,), ns; intervals without length are not seen.

    Returns:
        starts and ends of disjoint pieces in order of time, shape (m,), ns, and the place of the interval each shows.
    """
    places = np.flatnonzero(ends > starts)
    if len(places) == 0:
        return EMPTY.starts, EMPTY.ends, places
    starts, ends = starts[places], ends[places]
    edges = np.sort(np.concatenate([starts, ends]))
    edges = edges[np.append([True], edges[1:] != edges[:-1])]  # np.unique takes 50 times as long
    first, last = np.searchsorted(edges, starts), np.searchsorted(edges, ends)
    exponents = np.frexp(last - first)[1] - 1
    seen = np.full(len(edges) - 1, -1, np.int64)
    for exponent in range(int(exponents.max()), -1, -1):
        mine = exponents == exponent
        np.maximum.at(seen, first[mine], places[mine])
        np.maximum.at(seen, last[mine] - (1 << exponent), places[mine])
        if exponent:
            half = 1 << (exponent - 1)
            seen[half:] = np.maximum(seen[half:], seen[:-half])
    shown = np.flatnonzero(seen >= 0)
    return edges[shown], edges[shown + 1], seen[shown]


class Measure:
    """Answers how much of a set lies in any stretch of time; built once, each answer takes two binary searches."""

    def __init__(self, one: Intervals) -> None:
        self._set = one
        self._before = np.concatenate([np.zeros(1, np.int64), np.cumsum(one.lengths)])

    def up_to(self, times: Int64s) -> Int64s:
        """Return how much of the set lies before each of `times` (ns, any shape and order)."""
        index = np.searchsorted(self._set.starts, times, side="left")
        covered = self._before[index]
        if len(self._set) == 0:
            return covered
        overhang = self._set.ends[np.maximum(index - 1, 0)] - times
        return covered - np.where(index > 0, np.maximum(overhang, 0), 0)

    def within(self, starts: Int64s, ends: Int64s) -> Int64s:
        """Return how much of the set lies in each [start, end); `starts` and `ends` have the same shape."""
        return self.up_to(ends) - self.up_to(starts)
