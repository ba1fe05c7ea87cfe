"""Named stretches of host time, and sets of time in order of precedence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from gapfinder.analysis.intervals import EMPTY, Measure, intersect, merge, subtract, union
from gapfinder.explanations import Cause
from gapfinder.tables import PROCESS_MASK

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import pandas as pd
    from numpy.typing import NDArray

    from gapfinder.analysis.intervals import Bools, Int64s, Intervals


CAUSES = tuple(Cause)
"""Every cause; the row of a cause in an array of shares is its place here."""

PLACE = {cause: place for place, cause in enumerate(CAUSES)}


@dataclass(frozen=True, slots=True, eq=False)
class HostEvents:
    """Named stretches of host time, in any order; each array has shape (n,).

    Attributes:
        starts, ends: ns.
        threads: globalTid.
        names: index into `texts`.
    """

    starts: Int64s
    ends: Int64s
    threads: Int64s
    names: NDArray[np.integer[Any]]
    texts: Sequence[str]

    @classmethod
    def of(cls, frame: pd.DataFrame) -> HostEvents:
        """Take a frame with start, end, thread and name."""
        starts, ends, threads = (frame[name].to_numpy() for name in ("start", "end", "thread"))
        return cls(starts, ends, threads, frame["name"].cat.codes.to_numpy(), frame["name"].cat.categories.tolist())

    def __len__(self) -> int:
        return len(self.starts)

    def select(self, rows: Int64s | Bools) -> HostEvents:
        """Return some rows."""
        return HostEvents(self.starts[rows], self.ends[rows], self.threads[rows], self.names[rows], self.texts)

    def of_process(self, process: int) -> HostEvents:
        """Return the rows of one process."""
        return self.select(self.threads & PROCESS_MASK == process)

    def of_thread(self, thread: int) -> HostEvents:
        """Return the rows of one thread."""
        return self.select(self.threads == thread)

    def beginning_in(self, start: int, end: int) -> HostEvents:
        """Return the rows that begin in [start, end)."""
        return self.select((self.starts >= start) & (self.starts < end))

    def covered(self) -> Intervals:
        """Return when at least one of them lasts."""
        return union(self.starts, self.ends)

    def named(self, holds: Iterable[bool]) -> Bools:
        """Say which rows have a name for which something holds; it is told per text."""
        rows: Bools = np.array([*holds, False], np.bool_)[self.names]
        return rows

    def by_cause(self, causes: Sequence[Cause | None]) -> dict[Cause, HostEvents]:
        """Return the rows of each cause that occurs; a cause is told per text."""
        found = {}
        for cause in {cause for cause in causes if cause is not None}:
            rows = self.named(one is cause for one in causes)
            if rows.any():
                found[cause] = self.select(rows)
        return found


class Layers:
    """Sets of time in order of precedence: each moment belongs to the first set that has it."""

    def __init__(self, sets: Iterable[tuple[Cause, Intervals]]) -> None:
        self._layers: list[tuple[int, Measure]] = []
        self._sets: list[tuple[Cause, Intervals]] = []
        covered = EMPTY
        for cause, one in sets:
            if len(one):
                covered = merge(covered, one)
                self._layers.append((PLACE[cause], Measure(covered)))
                self._sets.append((cause, covered))

    def within(self, starts: Int64s, ends: Int64s) -> Int64s:
        """Return how much of each [start, end) belongs to each cause; shape (causes, n), ns."""
        shares = np.zeros((len(CAUSES), len(starts)), np.int64)
        before = np.zeros(len(starts), np.int64)
        for place, measure in self._layers:
            covered = measure.within(starts, ends)
            shares[place] += covered - before
            before = covered
        return shares

    def times_of(self, cause: Cause | None, inside: Intervals) -> Intervals:
        """Return what part of some time belongs to a cause; for None, what part belongs to none of them."""
        found, rest = EMPTY, inside
        for one, covered in self._sets:
            if one is cause:
                found = merge(found, intersect(covered, rest))
            rest = subtract(rest, covered)
        return rest if cause is None else found
