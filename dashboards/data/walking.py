"""Finds holes from all lanes of a timeline: the next one in time or by length, and the longest ones of a stretch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.errors import InputError
from gapfinder.explanations import Cause
from gapfinder.units import format_count

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dashboards.data.trace import Trace

    Int64s = NDArray[np.int64]
    Bools = NDArray[np.bool_]

_CAUSES = tuple(Cause)


class Order(StrEnum):
    """What the next hole is: the later one, or the shorter one."""

    TIME = "time"
    LENGTH = "length"


@dataclass(frozen=True, slots=True)
class FoundHole:
    """A hole of a lane, by its place in `LaneTrace.holes`; ns since the profile's origin."""

    lane: int
    hole: int
    start_ns: int
    end_ns: int
    length_ns: int
    cause: Cause


@dataclass(frozen=True, slots=True)
class HoleFilter:
    """Which holes are looked at: those of these lanes, of these causes (empty for all), of at least this length."""

    lanes: tuple[int, ...]
    causes: tuple[Cause, ...] = ()
    min_ns: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class Walk:
    """Where a walk from hole to hole goes on, and which way.

    Attributes:
        after: the hole that it stands on; None where it begins.
        from_ns: where it begins in time; by length it begins with the longest, and backwards with the shortest.
    """

    after: FoundHole | None = None
    from_ns: int = 0
    order: Order = Order.TIME
    is_back: bool = False


@dataclass(frozen=True, slots=True)
class HolesOfStretch:
    """How many holes reach into a stretch, what they last together, and the longest ones, longest first."""

    count: int
    total_ns: int
    longest: tuple[FoundHole, ...]


@dataclass(frozen=True, slots=True, eq=False)
class _Holes:
    """Holes of several lanes that pass a filter; every array has shape (n,)."""

    lanes: Int64s
    places: Int64s
    starts: Int64s
    ends: Int64s
    lengths: Int64s

    def keys(self, order: Order) -> tuple[Int64s, Int64s, Int64s]:
        """Return what they are ordered by: time or length, then lane and place, so that no two are equal."""
        return (self.starts if order is Order.TIME else -self.lengths), self.lanes, self.places


def hole_at(trace: Trace, *, lane: int, hole: int) -> FoundHole:
    """Return one hole; InputError where there is none."""
    if not 0 <= lane < len(trace.lanes):
        raise InputError(f"no lane {lane}: the profile has {format_count(len(trace.lanes), 'lane')}, the first is 0")
    holes = trace.lanes[lane].holes
    if not 0 <= hole < len(holes.starts):
        raise InputError(f"no hole {hole} on lane {lane}: it has {format_count(len(holes.starts), 'hole')}")
    clock = trace.lanes[lane].clock
    own_start, own_end = int(holes.starts[hole]), int(holes.ends[hole])
    return FoundHole(
        lane=lane,
        hole=hole,
        start_ns=clock.shared(own_start) - trace.origin_ns,
        end_ns=clock.shared(own_end) - trace.origin_ns,
        length_ns=own_end - own_start,
        cause=_CAUSES[int(holes.causes[hole])],
    )


def next_hole(trace: Trace, walk: Walk, *, among: HoleFilter) -> FoundHole | None:
    """Return the hole that a walk comes to; None where no further one passes the filter."""
    holes = _filtered(trace, among)
    keys = holes.keys(walk.order)
    if walk.after is not None:
        number = walk.after.start_ns if walk.order is Order.TIME else -walk.after.length_ns
        keep = _beyond(keys, (number, walk.after.lane, walk.after.hole), is_back=walk.is_back)
    elif walk.order is Order.TIME:
        keep = keys[0] < walk.from_ns if walk.is_back else keys[0] >= walk.from_ns
    else:
        keep = np.ones(len(holes.lanes), np.bool_)
    rows = np.flatnonzero(keep)
    for key in keys:
        if not len(rows):
            return None
        values = key[rows]
        rows = rows[values == (values.max() if walk.is_back else values.min())]
    return hole_at(trace, lane=int(holes.lanes[rows[0]]), hole=int(holes.places[rows[0]]))


def holes_of_stretch(trace: Trace, *, start_ns: int, end_ns: int, among: HoleFilter, limit: int) -> HolesOfStretch:
    """Return the holes that reach into a stretch, `limit` of them in full."""
    holes = _filtered(trace, among)
    rows = np.flatnonzero((holes.starts < end_ns) & (holes.ends > start_ns))
    lengths = holes.lengths[rows]
    kept = rows[np.argpartition(-lengths, limit - 1)[:limit]] if len(rows) > limit else rows
    kept = kept[np.lexsort((holes.starts[kept], -holes.lengths[kept]))]
    longest = (hole_at(trace, lane=int(holes.lanes[row]), hole=int(holes.places[row])) for row in kept)
    return HolesOfStretch(count=len(rows), total_ns=int(lengths.sum()), longest=tuple(longest))


def _filtered(trace: Trace, among: HoleFilter) -> _Holes:
    codes = [_CAUSES.index(cause) for cause in among.causes]
    found = [_of_lane(trace, lane, codes=codes, min_ns=among.min_ns) for lane in among.lanes]
    none = np.empty(0, np.int64)
    return (
        _Holes(*(np.concatenate([none, *columns]) for columns in zip(*found, strict=True)))
        if found
        else _Holes(none, none, none, none, none)
    )


def _of_lane(trace: Trace, lane: int, *, codes: list[int], min_ns: int) -> tuple[Int64s, ...]:
    holes, clock = trace.lanes[lane].holes, trace.lanes[lane].clock
    lengths = np.asarray(holes.ends) - np.asarray(holes.starts)
    keep: Bools = lengths >= min_ns
    if codes:
        keep &= np.isin(holes.causes, codes)
    places = np.flatnonzero(keep)
    starts = clock.all_shared(holes.starts[places]) - trace.origin_ns
    ends = clock.all_shared(holes.ends[places]) - trace.origin_ns
    return np.full(len(places), lane, np.int64), places, starts, ends, lengths[places]


def _beyond(keys: tuple[Int64s, Int64s, Int64s], key: tuple[int, int, int], *, is_back: bool) -> Bools:
    """Say which keys come after one, or before it."""
    result = np.zeros(len(keys[0]), np.bool_)
    equal = np.ones(len(keys[0]), np.bool_)
    for values, value in zip(keys, key, strict=True):
        result |= equal & (values < value if is_back else values > value)
        equal &= values == value
    return result
