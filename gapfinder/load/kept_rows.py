"""Which kernels and calls of a report that is read in parts are kept all the time, because any part may need them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gapfinder.tables import CALLS, KERNELS, PROCESS_MASK

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gapfinder.load.btree import Bools, Integers
    from gapfinder.load.runs import Runs


ByName = Callable[[Iterable[str]], list[bool]]
"""Says for each of some names whether something holds for it."""

_LIMITS = np.iinfo(np.int64)


@dataclass(frozen=True, slots=True, eq=False)
class Numbers:
    """Correlation numbers by process, each once and in order; -1 is none.

    Attributes:
        first, last: the smallest and the largest of any process; the smallest is larger where there are none.
    """

    by_process: Mapping[int, Integers]
    first: int
    last: int

    @classmethod
    def of(cls, *operations: pd.DataFrame) -> Numbers:
        """Take those of operations."""
        columns = [[frame[name].to_numpy() for frame in operations] for name in ("process", "correlation")]
        return cls._of(*map(np.concatenate, columns))

    @classmethod
    def of_calls(cls, calls: pd.DataFrame) -> Numbers:
        """Take those of CUDA calls."""
        return cls._of(calls["thread"].to_numpy() & PROCESS_MASK, calls["correlation"].to_numpy())

    @classmethod
    def _of(cls, processes: Integers, numbers: Integers) -> Numbers:
        processes, numbers = processes[numbers >= 0], numbers[numbers >= 0]
        found = {process: np.unique(numbers[processes == process]) for process in pd.unique(processes).tolist()}
        first, last = numbers.min(initial=_LIMITS.max), numbers.max(initial=_LIMITS.min)
        return cls(found, int(first), int(last))


def is_among(calls: pd.DataFrame, numbers: Numbers) -> Bools:
    """Say which calls have one of the numbers of their process."""
    return _are_among(calls["thread"].to_numpy() & PROCESS_MASK, calls["correlation"].to_numpy(), numbers)


def _are_among(processes: Integers, correlations: Integers, numbers: Numbers) -> Bools:
    found = np.zeros(len(processes), np.bool_)
    for process in pd.unique(processes).tolist():
        rows = np.flatnonzero(processes == process)
        wanted = numbers.by_process.get(process)
        if wanted is not None:
            place = np.minimum(np.searchsorted(wanted, correlations[rows]), len(wanted) - 1)
            found[rows] = wanted[place] == correlations[rows]
    return found


class KeptKernels:
    """Kernels of names kept whole, unusable ones, the first usable one of each name on each lane, and of each number.

    The numbers are those of calls that are kept whole: their first kernel shows that they did launch.
    """

    def __init__(self, runs: Runs, *, launched_by: Numbers) -> None:
        self._runs, self._numbers = runs, launched_by
        self._frames: list[pd.DataFrame] = []
        self._firsts: list[pd.DataFrame] = []

    def add(self, frame: pd.DataFrame, *, whole: ByName) -> None:
        """Look at a run of kernels."""
        starts, ends = frame["start"].to_numpy(), frame["end"].to_numpy()
        is_unusable = (ends < starts) | ((starts == 0) & (ends == 0))
        self._frames.append(frame[_by_name(frame, whole) | is_unusable])
        self._firsts.append(_earliest(frame[~is_unusable], ["process", "device", "name"]))
        if self._numbers.by_process:
            rows = _are_among(frame["process"].to_numpy(), frame["correlation"].to_numpy(), self._numbers)
            self._frames.append(frame[rows].drop_duplicates(["process", "correlation"]))

    def frame(self) -> pd.DataFrame:
        """Return them as frame KERNELS, the index their rows' numbers."""
        firsts = _earliest(
            self._runs.joined(self._named(self._firsts), empty=KERNELS.empty()), ["process", "device", "name"]
        )
        return self._runs.joined([*self._named(self._frames), firsts], empty=KERNELS.empty())

    def _named(self, frames: list[pd.DataFrame]) -> list[pd.DataFrame]:
        return [self._runs.named(frame) for frame in frames]


class KeptCalls:
    """CUDA calls that are kept: of some names, one of each name on each thread, and the last of each thread in a run.

    Attributes:
        launching: threads with a call that launches.
    """

    def __init__(self, runs: Runs) -> None:
        self._runs = runs
        self._whole: list[pd.DataFrame] = []
        self._frames: list[pd.DataFrame] = []
        self._seen: set[tuple[int, str]] = set()
        self.launching: set[int] = set()

    def add(self, frame: pd.DataFrame, *, whole: ByName, launches: ByName) -> None:
        """Look at a run of calls."""
        self._whole.append(frame[_by_name(frame, whole)])
        one_each = frame.drop_duplicates(["thread", "name"])
        pairs = list(zip(one_each["thread"].tolist(), one_each["name"].tolist(), strict=True))
        self._frames.append(one_each[np.array([pair not in self._seen for pair in pairs], np.bool_)])
        self._seen.update(pairs)
        self.launching.update(one_each["thread"][_by_name(one_each, launches)].tolist())
        self._frames.append(frame.loc[frame.groupby("thread")["start"].idxmax()])

    def numbers(self) -> Numbers:
        """Return the correlation numbers of the calls of names that are kept whole."""
        return Numbers.of_calls(pd.concat([CALLS.empty(), *(one.drop(columns="name") for one in self._whole)]))

    def add_numbered(self, frame: pd.DataFrame, numbers: Numbers) -> None:
        """Keep the calls of a run that have one of these numbers as well."""
        self._frames.append(frame[is_among(frame, numbers)])

    def frame(self) -> pd.DataFrame:
        """Return them as frame CALLS, the index their rows' numbers."""
        frames = [self._runs.named(frame) for frame in (*self._whole, *self._frames)]
        return self._runs.joined(frames, empty=CALLS.empty())


class SleepingCalls:
    """Calls into the operating system of threads that launch, without those in which another such thread worked.

    That is what the analysis makes of them in the end; it needs all CUDA calls between start and end of each.
    """

    def __init__(self, os_calls: pd.DataFrame, *, launching: Iterable[int]) -> None:
        self._calls = os_calls[os_calls["thread"].isin(list(launching))].reset_index(drop=True)
        self._threads = self._calls["thread"].to_numpy()
        self._starts, self._ends = self._calls["start"].to_numpy(), self._calls["end"].to_numpy()
        self._others = np.zeros(len(self._calls), np.int64)
        self._launching = np.array(sorted(launching), np.int64)

    def add(self, calls: pd.DataFrame) -> None:
        """Look at a run of CUDA calls."""
        rows = np.flatnonzero((self._starts <= calls["start"].max()) & (self._ends > calls["start"].min()))
        threads, starts = calls["thread"].to_numpy(), calls["start"].to_numpy()
        for thread in np.unique(self._threads[rows]).tolist():
            others = np.isin(threads, self._launching) & (threads & PROCESS_MASK == thread & PROCESS_MASK)
            begun = np.sort(starts[others & (threads != thread)])
            mine = rows[self._threads[rows] == thread]
            before = np.searchsorted(begun, self._starts[mine]), np.searchsorted(begun, self._ends[mine])
            self._others[mine] += before[1] - before[0]

    def frame(self) -> pd.DataFrame:
        """Return what is left as frame OS_CALLS."""
        left: pd.DataFrame = self._calls[self._others == 0]
        return left


def _by_name(frame: pd.DataFrame, holds: ByName) -> Bools:
    names = frame["name"].cat
    rows: Bools = np.array([*holds(names.categories), False], np.bool_)[names.codes.to_numpy()]
    return rows


def _earliest(frame: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    """Return the rows with the earliest start among those of equal keys: several where they start at once."""
    return frame[frame["start"] == frame.groupby(keys, observed=True)["start"].transform("min")]
