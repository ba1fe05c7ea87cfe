"""What a training process was busy with at each moment, as the NVTX ranges of its phases tell."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.host_names import range_causes
from gapfinder.analysis.intervals import Measure, painted, union
from gapfinder.analysis.ranks import OWN_DOMAINS
from gapfinder.analysis.step_ranges import by_code, is_library
from gapfinder.explanations import Cause
from gapfinder.processes import Phase
from gapfinder.tables import PROCESS_MASK

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pandas as pd
    from numpy.typing import NDArray

    from gapfinder.analysis.intervals import Bools, Int64s


PHASES = tuple(Phase)
"""Every phase; the row of a phase in an array of times is its place here."""

_PLACE = {phase: place for place, phase in enumerate(PHASES)}
_NONE = -1
_BY_TEXT = {phase.value: _PLACE[phase] for phase in Phase if phase is not Phase.OTHER}
_BY_CAUSE = {
    Cause.DATA_LOADING: _PLACE[Phase.DATA_LOADING],
    Cause.CHECKPOINT: _PLACE[Phase.CHECKPOINT],
    Cause.GARBAGE_COLLECTION: _PLACE[Phase.GARBAGE_COLLECTION],
}
# On another thread than the one that steps, these are done ahead or behind its back, as they should be.
_IN_BACKGROUND = [_PLACE[Phase.DATA_LOADING], _PLACE[Phase.CHECKPOINT]]
_MICRO_STEP = re.compile(r"micro-step \d+\b.*")


class PhaseRanges:
    """The ranges of a report that tell a phase, and those that tell a micro-step, by process."""

    def __init__(self, ranges: pd.DataFrame, *, step_threads: Iterable[int]) -> None:
        """Take frame RANGES, and the threads on which steps are.

        A range that was open when the capture ended tells nothing of a complete step, and is left out.
        """
        is_closed = ~ranges["is_open"].to_numpy()
        is_own = by_code(ranges["domain"], [domain in OWN_DOMAINS for domain in ranges["domain"].cat.categories])
        phases = _phases(ranges, is_own=is_own)
        threads = ranges["thread"].to_numpy()
        is_main = np.isin(threads, list(step_threads))
        rows = np.flatnonzero(is_closed & (phases != _NONE) & (is_main | ~np.isin(phases, _IN_BACKGROUND)))
        starts, ends, processes = ranges["start"].to_numpy(), ranges["end"].to_numpy(), threads & PROCESS_MASK
        # Painted in this order, what began last is seen; before it what the step's own thread does; and before all else
        # a garbage collection, which stops every thread of Python's.
        level = np.where(phases == _PLACE[Phase.GARBAGE_COLLECTION], 2, is_main)
        order = np.lexsort((phases[rows], -ends[rows], starts[rows], level[rows], processes[rows]))
        rows = rows[order]
        self._phases, self._starts, self._ends = phases[rows], starts[rows], ends[rows]
        self._processes = processes[rows]
        micro = np.flatnonzero(is_closed & is_own & by_code(ranges["name"], _matches(_MICRO_STEP, ranges)))
        self._micro_starts, self._micro_processes = starts[micro], processes[micro]

    def within(self, process: int, *, starts: Int64s, ends: Int64s) -> Int64s:
        """Return how much of each [start, end) a process was in each phase; shape (phases, n), ns.

        The times of one stretch add up to its length: OTHER is what no range tells.
        """
        first, last = np.searchsorted(self._processes, process), np.searchsorted(self._processes, process, side="right")
        seen_starts, seen_ends, places = painted(self._starts[first:last], self._ends[first:last])
        seen = self._phases[first:last][places]
        times = np.zeros((len(PHASES), len(starts)), np.int64)
        for place in np.unique(seen).tolist():
            times[place] = Measure(union(seen_starts[seen == place], seen_ends[seen == place])).within(starts, ends)
        times[_PLACE[Phase.OTHER]] = ends - starts - times.sum(axis=0)
        return times

    def micro_steps(self, process: int, *, starts: Int64s, ends: Int64s) -> Int64s:
        """Return how many micro-steps of a process begin in each [start, end), and 1 where none does; shape (n,)."""
        begun = np.sort(self._micro_starts[self._micro_processes == process])
        counts: Int64s = np.maximum(np.searchsorted(begun, ends) - np.searchsorted(begun, starts), 1)
        return counts


def _phases(ranges: pd.DataFrame, *, is_own: Bools) -> NDArray[np.int8]:
    """Return the place of the phase that each range tells; shape (ranges,)."""
    texts = ranges["name"].cat.categories.tolist()
    exact = np.array([*(_BY_TEXT.get(text, _NONE) for text in texts), _NONE], np.int8)
    causes = range_causes(texts)
    told = np.array([*(_NONE if cause is None else _BY_CAUSE.get(cause, _NONE) for cause in causes), _NONE], np.int8)
    codes = ranges["name"].cat.codes.to_numpy()
    phases = np.where(by_code(ranges["domain"], is_library(ranges["domain"].cat.categories)), _NONE, told[codes])
    return np.where(is_own & (exact[codes] != _NONE), exact[codes], phases).astype(np.int8)


def _matches(pattern: re.Pattern[str], ranges: pd.DataFrame) -> list[bool]:
    return [pattern.fullmatch(text) is not None for text in ranges["name"].cat.categories]
