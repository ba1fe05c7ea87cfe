"""How much of each pixel column something covers, exact at every zoom: two searches in prefix sums per column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from dashboards.data.trace import Busy, Int64s

ALL, NEARLY_ALL = 255, 254
"""A share as one byte: ALL where the whole column is covered, and only there; 0 only where nothing is."""


def column_edges(start: int, end: int, *, columns: int) -> Int64s:
    """Return where pixel columns begin and the last one ends; shape (columns + 1,), ns. None is empty."""
    edges: Int64s = start + np.arange(columns + 1, dtype=np.int64) * (end - start) // columns
    return edges


def covered_before(busy: Busy, times: Int64s) -> Int64s:
    """Return how much is covered before each moment; `times` in order, shape (n,), ns."""
    if len(busy.starts) == 0 or len(times) == 0:
        return np.zeros(len(times), np.int64)
    first, last = busy.starts.searchsorted((int(times[0]), int(times[-1]))).tolist()
    first = max(first - 1, 0)
    starts = busy.starts[first:last]
    if len(starts) == 0:
        return np.zeros(len(times), np.int64)
    at = starts.searchsorted(times) - 1
    begun = np.maximum(at, 0)
    own = np.minimum(times, busy.ends[first:last][begun]) - starts[begun]
    covered: Int64s = np.where(at < 0, 0, busy.before[first:last][begun] + own)
    return covered


def shares(busy: Busy, edges: Int64s) -> NDArray[np.uint8]:
    """Return how much of each column is covered, from 0 to ALL; `edges` has shape (columns + 1,), ns."""
    return as_shares(np.diff(covered_before(busy, edges)), np.diff(edges))


def as_shares(parts: Int64s, lengths: Int64s) -> NDArray[np.uint8]:
    """Return parts of columns as one byte each; both have shape (columns,), ns."""
    lengths = np.maximum(lengths, 1)
    rounded = np.clip((parts * NEARLY_ALL + lengths // 2) // lengths, 1, NEARLY_ALL)
    return np.where(parts >= lengths, ALL, np.where(parts > 0, rounded, 0)).astype(np.uint8)
