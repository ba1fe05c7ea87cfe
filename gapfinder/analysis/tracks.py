"""Compares sequences of communication operations: are they the same collectives, as two lanes or reports saw them?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from gapfinder.analysis.hints import OPERATIONS, ROOTED

if TYPE_CHECKING:
    from gapfinder.analysis.intervals import Bools, Int64s


NOT_KNOWN = -1
"""Stands for a communicator, size, lane, instance or time that nothing tells."""

STANDS_OUT = 0.75
"""What is less sure than this share of the surest is no match beside it."""

END_SKEW_NS = 50_000
_END_SKEW_SHARE = 50
"""Ends of one collective: up to 26 µs apart between two H100 of one host, and 0.8 % of its length for long ones."""

# Tracks are the same where this share of their operations fits and chance would not make it half as many. Where rows
# are missing a smaller share will do, if it is many times what chance makes.
_SAME = 0.9
_HALF = 0.5
_PART = 0.25
_OVER_CHANCE = 4

# A capture that began later is looked for up to so many operations off, on so many operations; training is periodic,
# so a few prove nothing.
_MAX_SHIFT, _FEWEST_SHIFTED, _MAX_COMPARED = 256, 8, 1024

# Few neighbours on each side tell a clock's offset where its drift is taken off: crystals drift by less than 100 ppm.
# Where the order has slipped by one operation, the offset is wrong by about the time from one to the next.
_NEIGHBOURS = 16
_MOST_DRIFT = 1e-4
_MOST = 0.75
"""Where the offset of a smaller share of operations is that of most, nothing tells which part of the order is right."""

_ROOTED_CODES = [OPERATIONS.index(operation) for operation in sorted(ROOTED)]
_SEND_RECEIVE = OPERATIONS.index("SendRecv")


@dataclass(frozen=True, slots=True, eq=False)
class Track:
    """A sequence of operations that may be the same collectives as another owner's, in order of end.

    Attributes:
        owner: what can be in a collective only once: a lane, later a report.
        communicator: NOT_KNOWN where not told.
        starts, ends, operations: shape (n,), of one of the lanes.
        rows: by lane, shape (n,): the lane's row in each collective; NOT_KNOWN where it is not in it.
        blur: ns by which its clock may be wrong against those of others.
    """

    owner: int
    communicator: int
    starts: Int64s
    ends: Int64s
    operations: Int64s
    rows: dict[int, Int64s]
    blur: int = 0

    def __len__(self) -> int:
        return len(self.ends)

    def select(self, keep: Bools) -> Track:
        """Return the operations where `keep` (shape (n,)) is true."""
        rows = {lane: places[keep] for lane, places in self.rows.items()}
        times = (self.starts[keep], self.ends[keep])
        return Track(self.owner, self.communicator, *times, self.operations[keep], rows, self.blur)


def ends_together(one: Track, other: Track) -> tuple[Int64s, float] | None:
    """Compare tracks on one clock: by order where nearly all end together, else those that do more than by chance."""
    if _is_told(one, other) and (one.starts <= other.ends).all() and (other.starts <= one.ends).all():
        return np.arange(len(one)), 1.0
    if len(one) == len(other) and np.array_equal(one.operations, other.operations):
        everything = np.arange(len(one))
        same = _is_same(one, other, everything)
        share = _share(same, other.operations)
        if share >= _SAME:  # the order holds for the rooted ones too, whose ends are apart
            return np.where(same | np.isin(other.operations, _ROOTED_CODES), everything, NOT_KNOWN), share
    return _nearest_ends(one, other)


def _nearest_ends(one: Track, other: Track) -> tuple[Int64s, float] | None:
    """Return for each of `other` the nearest operation of `one`, where that is the same more often than by chance."""
    places = _nearest(one.ends, other.ends)
    mutual = _nearest(other.ends, one.ends)[places] == np.arange(len(other))
    same = _is_same(one, other, places) & mutual
    share = float(same.mean())
    span = int(max(one.ends[-1], other.ends[-1]) - min(one.ends[0], other.ends[0]))
    chance = 2 * int(_tolerance(one, other, places).sum()) / max(span, 1)
    if not (share >= _SAME and chance <= _HALF) and not (share >= _PART and share >= _OVER_CHANCE * chance):
        return None
    return np.where(same, places, NOT_KNOWN), share


def same_order(one: Track, other: Track) -> tuple[Int64s, float] | None:
    """Compare tracks on different clocks: the same operations in order, and a clock offset that does not jump."""
    if _is_told(one, other):
        return np.arange(len(one)), 1.0
    if len(one) == len(other):
        sure = _steadiness(one, other, shift=0)
        places = _on_one_clock(one, other, np.arange(len(one))) if sure else None
        return None if places is None else (places, sure)
    fewest = max(_FEWEST_SHIFTED, min(len(one), len(other)) // 2)
    before, after = (min(len(track) - fewest, _MAX_SHIFT) for track in (other, one))
    reach = range(-before, after + 1) if before >= 0 <= after else ()
    found = sorted(((_steadiness(one, other, shift=shift), shift) for shift in reach), reverse=True)
    if not found or not found[0][0] or (len(found) > 1 and found[1][0] >= STANDS_OUT * found[0][0]):
        return None
    sure, shift = found[0]
    shifted = np.arange(len(other)) + shift
    places = _on_one_clock(one, other, np.where((shifted >= 0) & (shifted < len(one)), shifted, NOT_KNOWN))
    return None if places is None else (places, sure)


def _on_one_clock(one: Track, other: Track, places: Int64s) -> Int64s | None:
    """Return the places without those whose clock offset is not that of most: there the order has slipped.

    None where no offset is that of most, so that nothing tells which part of the order is right.
    """
    is_known: Bools = places != NOT_KNOWN
    known = np.flatnonzero(is_known)
    ends = one.ends[places[known]]
    offsets = _without_drift(ends - other.ends[known], ends)
    usual = np.median(sliding_window_view(np.pad(offsets, _NEIGHBOURS, mode="reflect"), 2 * _NEIGHBOURS + 1), axis=1)
    pace = float(np.median(np.diff(ends))) if len(ends) > 1 else 0.0
    kept: Bools = np.abs(usual - np.median(usual)) <= max(END_SKEW_NS, pace / 4)
    if kept.mean() < _MOST:
        return None
    kept &= np.abs(offsets - usual) <= _tolerance(one, other.select(is_known), places[known])
    if not kept.any():
        return None
    found = np.full(len(places), NOT_KNOWN, np.int64)
    found[known[kept]] = places[known[kept]]
    return found


def _without_drift(offsets: Int64s, times: Int64s) -> Int64s:
    """Return offsets between two clocks from the first one, less what their drift adds; `times` are on one of them."""
    offsets, times = offsets - offsets[0], times - times[0]
    lag = max(1, len(offsets) // 4)
    if len(offsets) <= lag:
        return offsets
    rates = (offsets[lag:] - offsets[:-lag]) / np.maximum(times[lag:] - times[:-lag], 1)
    drift = np.clip(np.median(rates), -_MOST_DRIFT, _MOST_DRIFT)
    steady: Int64s = offsets - np.rint(drift * times).astype(np.int64)
    return steady


def _steadiness(one: Track, other: Track, *, shift: int) -> float:
    """Return how well the offset between two clocks keeps, when `other` begins at place `shift` of `one`.

    1 is without any jump; 0 stands for too many, or for other operations.
    """
    first, end = max(shift, 0), min(len(one), len(other) + shift, max(shift, 0) + _MAX_COMPARED)
    mine, theirs = slice(first, end), slice(first - shift, end - shift)
    if not np.array_equal(one.operations[mine], other.operations[theirs]):
        return 0.0
    jumps = np.abs(np.diff(one.ends[mine] - other.ends[theirs]))
    if len(jumps) == 0:
        return 1.0
    shorter = np.minimum((one.ends - one.starts)[mine], (other.ends - other.starts)[theirs])
    tolerance = np.maximum(END_SKEW_NS, (shorter // _END_SKEW_SHARE)[1:])
    if (jumps <= tolerance).mean() < _SAME:
        return 0.0
    return float(1 - np.minimum(jumps / tolerance, 1).mean())


def _is_told(one: Track, other: Track) -> bool:
    """Say whether ids tell it: one communicator, the same operations, all of them by all its ranks."""
    if one.communicator == NOT_KNOWN or not np.array_equal(one.operations, other.operations):
        return False
    return not (one.operations == _SEND_RECEIVE).any()


def _is_same(one: Track, other: Track, places: Int64s) -> Bools:
    """Say which operations of `other` are the same, run at once and end together with the one at its place."""
    apart = np.abs(one.ends[places] - other.ends)
    same: Bools = (one.operations[places] == other.operations) & (apart <= _tolerance(one, other, places))
    same &= (one.starts[places] <= other.ends) & (other.starts <= one.ends[places])
    return same


def _tolerance(one: Track, other: Track, places: Int64s) -> Int64s:
    shorter = np.minimum((one.ends - one.starts)[places], other.ends - other.starts)
    tolerance: Int64s = np.maximum(END_SKEW_NS, shorter // _END_SKEW_SHARE) + one.blur + other.blur
    return tolerance


def _share(same: Bools, operations: Int64s) -> float:
    """Return the share of the operations that hold, those with a root left out unless there are no others."""
    counts = ~np.isin(operations, _ROOTED_CODES)
    return float(same[counts].mean() if counts.any() else same.mean())


def _nearest(sorted_times: Int64s, times: Int64s) -> Int64s:
    """Return for each of `times` the place of the nearest among `sorted_times` (not empty)."""
    after = np.minimum(np.searchsorted(sorted_times, times), len(sorted_times) - 1)
    before = np.maximum(after - 1, 0)
    is_before = np.abs(times - sorted_times[before]) <= np.abs(sorted_times[after] - times)
    return np.where(is_before, before, after).astype(np.int64)
