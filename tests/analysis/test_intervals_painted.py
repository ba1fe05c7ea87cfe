"""Intervals laid over one another, against a grid painted ns by ns."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from gapfinder.analysis.intervals import painted

GRID = 40
intervals = st.lists(st.tuples(st.integers(0, GRID), st.integers(0, GRID)), max_size=12)


def test_nothing_is_seen_of_nothing() -> None:
    none = np.empty(0, np.int64)
    assert [len(part) for part in painted(none, none)] == [0, 0, 0]
    assert [len(part) for part in painted(np.array([3, 5]), np.array([3, 4]))] == [0, 0, 0]


def test_the_last_one_hides_what_is_under_it_and_no_more() -> None:
    starts, ends, places = painted(np.array([0, 2, 4]), np.array([10, 8, 5]))
    assert (starts.tolist(), ends.tolist(), places.tolist()) == ([0, 2, 4, 5, 8], [2, 4, 5, 8, 10], [0, 1, 2, 1, 0])


@given(intervals)
def test_what_is_seen_is_what_was_painted_last(pairs: list[tuple[int, int]]) -> None:
    grid = np.full(GRID, -1)
    for place, (start, end) in enumerate(pairs):
        grid[start:end] = place
    base = 2**62  # where float64 cannot tell two times apart
    starts, ends = (base + np.array([pair[at] for pair in pairs], np.int64) for at in (0, 1))
    seen = np.full(GRID, -1)
    for start, end, place in zip(*(part.tolist() for part in painted(starts, ends)), strict=True):
        assert (seen[start - base : end - base] == -1).all()
        assert start < end
        seen[start - base : end - base] = place
    assert seen.tolist() == grid.tolist()
