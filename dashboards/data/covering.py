"""How much of each pixel column something covers, exact at every zoom: two searches in prefix sums per column."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dashboards.data.trace import Busy, Int8s, Int64s

ALL, NEARLY_ALL = 255, 254
"""A share as one byte: ALL where the whole column is covered, and only there; 0 only where nothing is."""


NO_HOLE = 255
"""Stands for the cause of the longest hole where there is none."""


_FEW = 24
"""So few columns are looked through one by one, which takes less than the arrays that serve many at once."""


def column_edges(start: int, end: int, *, columns: int) -> Int64s:
    """Return where pixel columns begin and the last one ends; shape (columns + 1,), ns. None is empty."""
    edges: Int64s = start + np.arange(columns + 1, dtype=np.int64) * (end - start) // columns
    return edges


def covered_before(busy: Busy, times: Int64s) -> Int64s:
    """Return how much is covered before each moment; `times` in order, shape (n,), ns."""
    if len(busy.starts) == 0 or len(times) == 0:
        return np.zeros(len(times), np.int64)
    first, last = busy.starts.searchsorted((int(times[0]), int(times[-1]))).tolist()
    near = slice(max(first - 1, 0), max(last, 1))
    starts = busy.starts[near]
    at = starts.searchsorted(times)
    at -= at > 0  # what began last before a moment; else the first of all, which adds nothing
    own = np.minimum(times, busy.ends[near][at]) - starts[at]
    covered: Int64s = busy.before[near][at] + np.maximum(own, 0)
    return covered


def shares(busy: Sequence[Busy], edges: Sequence[Int64s]) -> NDArray[np.uint8]:
    """Return how much of each column is covered, from 0 to ALL, of many rows at once.

    Args:
        busy: what covers, row by row.
        edges: of the columns of each row, shape (columns + 1,), ns.
    """
    covered = np.array([covered_before(one, times) for one, times in zip(busy, edges, strict=True)])
    columns = np.array(edges)
    return as_shares(covered[:, 1:] - covered[:, :-1], columns[:, 1:] - columns[:, :-1])


def as_shares(parts: Int64s, lengths: Int64s) -> NDArray[np.uint8]:
    """Return parts of columns as one byte each; both have one shape, ns. Nothing is in an empty column."""
    lengths = np.maximum(lengths, 1)  # another clock's drift may leave nothing of a column of 1 ns
    rounded_up = -(parts * -NEARLY_ALL // lengths)
    as_bytes: NDArray[np.uint8] = (rounded_up + (parts >= lengths)).astype(np.uint8)
    return as_bytes


def longest_holes(starts: Int64s, ends: Int64s, causes: Int8s, edges: Int64s) -> NDArray[np.uint8]:
    """Return the cause of the longest hole in each column, else NO_HOLE; holes do not overlap and are in order."""
    longest = np.full(len(edges) - 1, NO_HOLE, np.uint8)
    if len(starts) == 0:
        return longest
    lengths = ends - starts
    # the hole that a column begins in, unless a longer one begins in the column
    before = starts.searchsorted(edges[:-1]) - 1
    running = np.flatnonzero((before >= 0) & (ends[before] > edges[:-1]))
    best = np.zeros(len(longest), np.int64)
    best[running] = lengths[before[running]]
    longest[running] = causes[before[running]]
    at, places = longest_by_column(starts, lengths, edges)
    is_longer = lengths[places] > best[at]
    longest[at[is_longer]] = causes[places[is_longer]]
    return longest


def longest_by_column(starts: Int64s, lengths: Int64s, edges: Int64s) -> tuple[Int64s, Int64s]:
    """Return the columns in which something begins, and the place of the longest that does; starts are in order."""
    firsts = starts.searchsorted(edges)
    columns = np.flatnonzero(firsts[1:] > firsts[:-1])
    if len(columns) == 0:
        return columns, columns
    if len(columns) <= _FEW:
        groups = zip(firsts[columns].tolist(), firsts[columns + 1].tolist(), strict=True)
        return columns, np.array([begin + int(lengths[begin:end].argmax()) for begin, end in groups], np.int64)
    begin, end = int(firsts[0]), int(firsts[-1])
    lengths = lengths[begin:end]
    heads = firsts[columns] - begin
    longest = np.repeat(np.maximum.reduceat(lengths, heads), firsts[columns + 1] - firsts[columns])
    candidates = np.flatnonzero(lengths == longest)
    return columns, candidates[candidates.searchsorted(heads)] + begin
