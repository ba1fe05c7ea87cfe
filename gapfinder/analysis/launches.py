"""Finds the CUDA API call that launched a GPU operation, always within its own process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from gapfinder.tables import PROCESS_MASK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gapfinder.analysis.intervals import Int64s

    Codes = NDArray[np.integer[Any]]

NEVER = np.iinfo(np.int64).max
"""Stands for the launch time of an operation whose launch call was not captured; later than every range."""

# A table with one entry for each number in use is much faster than a search, while it stays within this many times the
# calls; correlation ids count the calls of a process, so it nearly always does.
_DENSE_FACTOR = 4


class Launches:
    """The CUDA API calls of one process, found by correlation id.

    Correlation ids repeat between processes, so there is no way to ask without naming the process first.

    Attributes:
        starts, ends: shape (n,), ns.
        threads: shape (n,), globalTid.
        names: shape (n,), index into the report's call names.
    """

    def __init__(  # noqa: PLR0913 (a column each)
        self,
        *,
        correlations: Int64s,
        starts: Int64s,
        ends: Int64s,
        threads: Int64s,
        names: Codes,
        numbers: Int64s | None,
    ) -> None:
        known = correlations >= 0
        if not known.all():
            correlations, starts, ends = correlations[known], starts[known], ends[known]
            threads, names = threads[known], names[known]
            numbers = None if numbers is None else numbers[known]
        self._numbers = numbers
        self._correlations = correlations
        # The last place answers for the row -1.
        self._starts_or_never: Int64s = np.append(starts, NEVER)
        self._threads_or_none: Int64s = np.append(threads, 0)
        self.starts, self.threads = self._starts_or_never[:-1], self._threads_or_none[:-1]
        self.ends, self.names = ends, names
        self._first = int(correlations.min()) if len(correlations) else 0
        span = int(correlations.max()) - self._first + 1 if len(correlations) else 0
        self._is_dense = span <= _DENSE_FACTOR * len(correlations)
        if self._is_dense:
            self._rows = self._dense_rows(span)
        else:
            # Among calls with one number the earliest counts, whatever the order of rows.
            self._rows = np.lexsort((threads, starts, correlations))
            self._sorted = correlations[self._rows]

    def _dense_rows(self, span: int) -> Int64s:
        """Return for each number from the first on the row of its earliest call, -1 for none; shape (span,)."""
        rows = np.full(span, -1, np.int64)
        index = self._correlations - self._first
        rows[index] = np.arange(len(index))
        has_repeats = (rows[index] != np.arange(len(index))).any()
        if has_repeats:
            latest_first = np.lexsort((self.threads, self.starts))[::-1]
            rows[index[latest_first]] = latest_first
        return rows

    def rows_of(self, correlations: Int64s) -> Int64s:
        """Return the row of each operation's launch call, -1 where it was not captured; same shape."""
        if self._is_dense:
            index = correlations - self._first
            inside = (index >= 0) & (index < len(self._rows))
            if inside.all():
                return self._rows[index]
            rows = np.full(len(index), -1, np.int64)
            rows[inside] = self._rows[index[inside]]
            return rows
        at = np.minimum(np.searchsorted(self._sorted, correlations), len(self._sorted) - 1)
        return np.where(self._sorted[at] == correlations, self._rows[at], -1)

    def numbers_of(self, rows: Int64s) -> Int64s:
        """Return which calls of the whole report those at `rows` are, where these are only some of them."""
        return rows if self._numbers is None else self._numbers[rows]

    def starts_of(self, rows: Int64s) -> Int64s:
        """Return when the calls at `rows` began, in ns; NEVER for -1."""
        return self._starts_or_never[rows]

    def threads_of(self, rows: Int64s) -> Int64s:
        """Return the globalTid of the threads that made the calls at `rows`; 0 for -1."""
        return self._threads_or_none[rows]


def launches_by_process(calls: pd.DataFrame) -> dict[int, Launches]:
    """Split the frame CALLS by process key."""
    threads = calls["thread"].to_numpy()
    codes, processes = pd.factorize(threads & PROCESS_MASK)
    correlations, starts, ends = (calls[name].to_numpy() for name in ("correlation", "start", "end"))
    names = calls["name"].cat.codes.to_numpy()
    return {
        int(process): Launches(
            correlations=correlations[rows],
            starts=starts[rows],
            ends=ends[rows],
            threads=threads[rows],
            names=names[rows],
            numbers=None if isinstance(calls.index, pd.RangeIndex) else calls.index.to_numpy()[rows],
        )
        for process, rows in zip(processes, rows_by_code(codes, len(processes)), strict=True)
    }


def rows_by_code(codes: Int64s, count: int) -> list[Int64s]:
    """Return for each code from 0 to `count` - 1 the rows that carry it, in order of row."""
    if count <= 1:
        return [np.arange(len(codes))] * count
    narrow = np.uint16 if count <= np.iinfo(np.uint16).max else np.int64
    order = np.argsort(codes.astype(narrow), kind="stable")  # a radix sort for 16 bits
    return np.split(order, np.cumsum(np.bincount(codes, minlength=count))[:-1])
