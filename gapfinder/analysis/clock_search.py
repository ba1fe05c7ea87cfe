"""Finds how far two clocks are apart before anybody knows which of their communication operations are the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.clock_lines import ClockLine, fit_line
from gapfinder.analysis.hints import OPERATIONS, ROOTED
from gapfinder.analysis.tracks import AS_SURE, END_SKEW_NS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.matching import LaneCommunication

    Bools = NDArray[np.bool_]

# Members of a collective end together, those of a broadcast or a send need not.
_NOT_TELLING = np.array([OPERATIONS.index(name) for name in sorted({*ROOTED, "SendRecv"})], np.int64)

# A chunk is so short that drift does not blur it, and long enough for a step or two.
_MOST_CHUNKS, _CHUNK, _MOST_IN_CHUNK = 32, 64, 512
_WIDTH_NS = 2 * END_SKEW_NS
_FEWEST = 4
_SHARPNESS = 6
_HALF = 0.5


@dataclass(frozen=True, slots=True, eq=False)
class Ends:
    """When the communication operations on one clock ended; each array has shape (n,), in order of end.

    Attributes:
        ends: ns on that clock.
        kinds: (n, 2): operation and communicator.
    """

    ends: Int64s
    kinds: Int64s

    def __len__(self) -> int:
        return len(self.ends)

    @classmethod
    def of(cls, lanes: Sequence[LaneCommunication]) -> Ends:
        """Return the ends of all lanes on one clock."""
        ends = np.concatenate([lane.ends for lane in lanes])
        operations = np.concatenate([lane.operations for lane in lanes])
        communicators = np.concatenate([lane.communicators for lane in lanes])
        order = np.lexsort((communicators, operations, ends))
        return cls(ends[order], np.stack([operations, communicators], axis=1)[order])

    def telling(self) -> Ends:
        """Return the operations whose members all end together."""
        return self.select(is_telling(self.kinds[:, 0]))

    def select(self, keep: Bools) -> Ends:
        """Return the operations where `keep` (shape (n,)) is true."""
        return Ends(self.ends[keep], self.kinds[keep])


def is_telling(operations: Int64s) -> Bools:
    """Say which operations end on all their members together; shape as given."""
    return ~np.isin(operations, _NOT_TELLING)


def search_line(one: Ends, other: Ends, *, reach: int) -> ClockLine | None:
    """Return how far `other` is ahead of `one`, at most `reach` ns; None where nothing tells.

    Operations that are the same collective are all equally far apart, whereas others are apart by anything. So among
    the distances between all operations of one kind, the true one is where most of them are.
    """
    return _search(one.telling(), other.telling(), reach=reach) or _search(one, other, reach=reach)


def _search(one: Ends, other: Ends, *, reach: int) -> ClockLine | None:
    if not len(one) or not len(other):
        return None
    by_kind = {kind: one.ends[(one.kinds == kind).all(axis=1)] for kind in map(tuple, np.unique(one.kinds, axis=0))}
    chunks = np.array_split(np.arange(len(other)), max(1, min(_MOST_CHUNKS, len(other) // _CHUNK)))
    parts = [(chunk[:_MOST_IN_CHUNK]) for chunk in chunks]
    peaks = [_peak(*_distances(by_kind, Ends(other.ends[part], other.kinds[part]), reach=reach)) for part in parts]
    found = [peak for peak in peaks if peak is not None]
    if len(found) <= _HALF * len(parts):
        return None
    middles, medians = (np.array([int(np.median(peak[side])) for peak in found], np.int64) for side in (0, 1))
    line = fit_line(middles, medians)
    fits = np.abs(medians - line.ahead(middles)) <= END_SKEW_NS
    if fits.mean() <= _HALF:
        return None
    times, ahead = (np.concatenate([p[side] for p, fit in zip(found, fits, strict=True) if fit]) for side in (0, 1))
    return fit_line(times, ahead)


def _distances(by_kind: dict[tuple[int, ...], Int64s], other: Ends, *, reach: int) -> tuple[Int64s, Int64s]:
    """Return (times, distances) of all pairs of one kind that are at most `reach` apart; times are of `other`."""
    times, distances = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for kind, ends in by_kind.items():
        own = other.ends[(other.kinds == kind).all(axis=1)]
        first, last = np.searchsorted(ends, own - reach), np.searchsorted(ends, own + reach, side="right")
        counts = last - first
        place = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts) + np.repeat(first, counts)
        times.append(np.repeat(own, counts))
        distances.append(times[-1] - ends[place])
    return np.concatenate(times), np.concatenate(distances)


def _peak(times: Int64s, distances: Int64s) -> tuple[Int64s, Int64s] | None:
    """Return (times, distances) where most distances are alike; None unless they stand out and lie close together."""
    if len(distances) < _FEWEST:
        return None
    order = np.argsort(distances, kind="stable")
    times, distances = times[order], distances[order]
    ends = np.searchsorted(distances, distances + _WIDTH_NS, side="right")
    counts = ends - np.arange(len(distances))
    # of equally many the nearest: clocks that are set by a network agree to ms
    best = int(np.lexsort((np.abs(distances), -counts))[0])
    inside = slice(best, int(ends[best]))
    middle = int(np.median(distances[inside]))
    elsewhere = counts[np.abs(distances + _WIDTH_NS // 2 - middle) > 2 * _WIDTH_NS]
    if counts[best] < _FEWEST or (len(elsewhere) and elsewhere.max() >= AS_SURE * counts[best]):
        return None
    if np.median(np.abs(distances[inside] - middle)) * _SHARPNESS > _WIDTH_NS:
        return None
    return times[inside], distances[inside]
