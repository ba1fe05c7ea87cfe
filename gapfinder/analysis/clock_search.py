"""Finds how far two clocks are apart before anybody knows which of their communication operations are the same."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gapfinder.analysis.clock_lines import ClockLine, fit_line
from gapfinder.analysis.hints import OPERATIONS, ROOTED
from gapfinder.analysis.tracks import END_SKEW_NS, NOT_KNOWN, STANDS_OUT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.analysis.intervals import Bools, Int64s
    from gapfinder.analysis.matching import LaneCommunication


# Members of a collective end together, those of a broadcast or a send need not.
_TELLS = np.array([name not in ROOTED and name != "SendRecv" for name in OPERATIONS], np.bool_)

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
    _by_kind: dict[tuple[int, int], Int64s] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self.ends)

    @classmethod
    def of(cls, lanes: Sequence[LaneCommunication]) -> Ends:
        """Return the ends of all lanes on one clock."""
        names = ("ends", "operations", "communicators")
        columns = ([np.empty(0, np.int64), *(getattr(lane, name) for lane in lanes)] for name in names)
        ends, operations, communicators = map(np.concatenate, columns)
        order = np.lexsort((communicators, operations, ends))
        return cls(ends[order], np.stack([operations, communicators], axis=1)[order])

    def of_kind(self, operation: int, communicator: int) -> Int64s:
        """Return when the operations of one kind ended; the first clock of a job is asked once for each other one."""
        kind = operation, communicator
        if kind not in self._by_kind:
            self._by_kind[kind] = self.ends[(self.kinds[:, 0] == operation) & (self.kinds[:, 1] == communicator)]
        return self._by_kind[kind]

    def distinct_kinds(self) -> Int64s:
        """Return each kind once, in order; shape (kinds, 2)."""
        codes, communicators = pd.factorize(self.kinds[:, 1])
        which, operations = np.divmod(pd.unique(codes * len(OPERATIONS) + self.kinds[:, 0]), len(OPERATIONS))
        return np.unique(np.stack([operations, communicators[which]], axis=1), axis=0)

    def select(self, keep: Bools) -> Ends:
        """Return the operations where `keep` (shape (n,)) is true."""
        return self if keep.all() else Ends(self.ends[keep], self.kinds[keep])


def is_telling(operations: Int64s) -> Bools:
    """Say which operations end on all their members together; shape as given."""
    tells: Bools = _TELLS[operations]
    return tells


def search_line(one: Ends, other: Ends, *, reach: int) -> ClockLine | None:
    """Return how far `other` is ahead of `one`, at most `reach` ns; None where nothing tells.

    Operations that are the same collective are all equally far apart, whereas others are apart by anything. So among
    the distances between all operations of one kind, the true one is where most of them are. Kinds whose communicator
    is known are looked at together; of the others each by itself, because hosts that run in step have operations of
    the same kind by themselves at nearly the same time, only less exactly so.
    """
    for is_wanted in (is_telling, lambda operations: ~is_telling(operations)):
        wanted = other.select(is_wanted(other.kinds[:, 0]))
        kinds = wanted.distinct_kinds()
        is_told = kinds[:, 1] != NOT_KNOWN
        groups = [(kinds[is_told], wanted.select(wanted.kinds[:, 1] != NOT_KNOWN))] if is_told.any() else []
        groups += [(kind[None], wanted.select((wanted.kinds == kind).all(axis=1))) for kind in kinds[~is_told]]
        lines = [_search(one, own, kinds=group, reach=reach) for group, own in groups]
        found = [line for line in lines if line is not None]
        if found:
            return min(found, key=lambda line: line.scatter_ns)
    return None


def _search(one: Ends, theirs: Ends, *, kinds: Int64s, reach: int) -> ClockLine | None:
    """Return the line by the operations of some kinds (shape (kinds, 2)) alone; `theirs` are only those."""
    mine = {
        (operation, communicator): one.of_kind(operation, communicator) for operation, communicator in kinds.tolist()
    }
    chunks = np.array_split(np.arange(len(theirs)), max(1, min(_MOST_CHUNKS, len(theirs) // _CHUNK)))
    parts = [Ends(theirs.ends[rows], theirs.kinds[rows]) for rows in (chunk[:_MOST_IN_CHUNK] for chunk in chunks)]
    peaks = [_peak(*_distances(mine, part, reach=reach)) for part in parts]
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


def _distances(by_kind: dict[tuple[int, int], Int64s], other: Ends, *, reach: int) -> tuple[Int64s, Int64s]:
    """Return (times, distances) of all pairs of one kind that are at most `reach` apart; times are of `other`."""
    times, distances = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for (operation, communicator), ends in by_kind.items():
        own = other.of_kind(operation, communicator)
        first, last = np.searchsorted(ends, own - reach), np.searchsorted(ends, own + reach, side="right")
        counts = last - first
        place = np.arange(counts.sum()) + np.repeat(first - (np.cumsum(counts) - counts), counts)
        times.append(np.repeat(own, counts))
        distances.append(times[-1] - ends[place])
    return np.concatenate(times), np.concatenate(distances)


def _peak(times: Int64s, distances: Int64s) -> tuple[Int64s, Int64s] | None:
    """Return (times, distances) where most distances are alike; None unless they stand out and lie close together."""
    if len(distances) < _FEWEST:
        return None
    ordered = np.sort(distances)
    counts = np.searchsorted(ordered, ordered + _WIDTH_NS, side="right") - np.arange(len(ordered))
    if counts.max() < _FEWEST:
        return None
    # Steps repeat: a whole step away nearly as many are alike. Clocks that are set by a network agree to ms, so the
    # true distance is the shortest of those.
    often = np.flatnonzero(counts >= STANDS_OUT * counts.max())
    from_zero = np.abs(ordered[often] + _WIDTH_NS // 2)
    near = often[from_zero <= from_zero.min() + _WIDTH_NS]
    lowest = ordered[near[np.argmax(counts[near])]]
    inside = np.flatnonzero((distances >= lowest) & (distances <= lowest + _WIDTH_NS))
    inside = inside[np.argsort(distances[inside], kind="stable")]
    times, distances = times[inside], distances[inside]
    if np.median(np.abs(distances - np.median(distances))) * _SHARPNESS > _WIDTH_NS:
        return None
    return times, distances
