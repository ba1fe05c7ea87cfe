"""The interval algebra, drawn where a picture says it best and against a brute-force grid for everything else."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pictures import drawn, spans

from gapfinder.analysis.intervals import EMPTY, Intervals, Measure, clip, complement, merge, union
from gapfinder.budget import Window

GRID = 48


def test_union_joins_what_overlaps_touches_or_nests() -> None:
    picture = "  ====      ==      =========  \n    ====      ==      ==  =    \n                        =      "
    assert drawn(union(*spans(picture)), width=31) == "  ======    ====    =========  "


def test_union_uses_the_latest_end_so_far_not_the_previous_one() -> None:
    """A long kernel with short ones inside leaves no gap (P74)."""
    starts, ends = np.array([0, 2, 5]), np.array([20, 3, 6])
    assert drawn(union(starts, ends), width=20) == "=" * 20


def test_complement_has_no_edges_outside_the_window() -> None:
    busy = union(*spans("==  ===   ==  ==="))
    assert drawn(complement(busy, window=Window(start_ns=2, end_ns=15)), width=17) == "  ==   ===  ==   "


def test_clip_cuts_what_crosses_the_edge() -> None:
    busy = union(*spans("  =======   ====  "))
    assert drawn(clip(busy, window=Window(start_ns=5, end_ns=14)), width=18) == "     ====   ==    "


@pytest.mark.parametrize("window", [(0, 2), (9, 12), (16, 18)])
def test_clip_to_a_window_between_intervals_is_empty(window: tuple[int, int]) -> None:
    busy = union(*spans("  =======   ====  "))
    assert len(clip(busy, window=Window(start_ns=window[0], end_ns=window[1]))) == 0


def test_int64_is_kept_where_float64_cannot_tell_two_times_apart() -> None:
    base = 2**62
    one = union(np.array([base, base + 3]), np.array([base + 1, base + 4]))
    assert (one.total, one.starts.dtype) == (2, np.int64)
    assert Measure(one).up_to(np.array([base + 3])).tolist() == [1]


intervals = st.lists(st.tuples(st.integers(0, GRID), st.integers(0, GRID)).map(sorted), max_size=12)
windows = st.tuples(st.integers(0, GRID - 1), st.integers(1, GRID)).filter(lambda w: w[0] < w[1])


def arrays(pairs: list[list[int]]) -> tuple[np.ndarray, np.ndarray]:
    return np.array([s for s, _ in pairs], np.int64), np.array([e for _, e in pairs], np.int64)


def grid(pairs: list[list[int]]) -> np.ndarray:
    """Which of the GRID nanoseconds are covered, one by one."""
    cells = np.zeros(GRID, bool)
    for start, end in pairs:
        for nanosecond in range(start, end):
            cells[nanosecond] = True
    return cells


def as_grid(one: Intervals) -> np.ndarray:
    return grid([[int(s), int(e)] for s, e in zip(one.starts, one.ends, strict=True)])


def assert_is_normal(one: Intervals) -> None:
    assert (one.starts < one.ends).all()
    assert (one.ends[:-1] < one.starts[1:]).all()
    assert one.starts.dtype == one.ends.dtype == np.int64


@given(intervals)
def test_union_equals_the_grid(pairs: list[list[int]]) -> None:
    one = union(*arrays(pairs))
    assert_is_normal(one)
    assert (as_grid(one) == grid(pairs)).all()
    assert one.total == grid(pairs).sum()


@given(intervals)
def test_holds_equals_the_grid(pairs: list[list[int]]) -> None:
    times = np.arange(-2, GRID + 2)
    assert union(*arrays(pairs)).holds(times).tolist() == [False] * 2 + grid(pairs).tolist() + [False] * 2


@given(intervals, intervals, intervals)
def test_merge_equals_the_grid(a: list[list[int]], b: list[list[int]], c: list[list[int]]) -> None:
    merged = merge(union(*arrays(a)), union(*arrays(b)), union(*arrays(c)))
    assert_is_normal(merged)
    assert (as_grid(merged) == (grid(a) | grid(b) | grid(c))).all()


@given(intervals, windows)
def test_clip_and_complement_split_the_window(pairs: list[list[int]], edges: tuple[int, int]) -> None:
    window = Window(start_ns=edges[0], end_ns=edges[1])
    busy, idle = clip(union(*arrays(pairs)), window=window), complement(union(*arrays(pairs)), window=window)
    inside = np.zeros(GRID, bool)
    inside[edges[0] : edges[1]] = True
    assert_is_normal(idle)
    assert (as_grid(busy) == (grid(pairs) & inside)).all()
    assert (as_grid(idle) == (~grid(pairs) & inside)).all()


@given(intervals, st.lists(st.integers(-3, GRID + 3), max_size=20))
def test_measure_equals_the_grid(pairs: list[list[int]], times: list[int]) -> None:
    expected = [int(grid(pairs)[: max(time, 0)].sum()) for time in times]
    assert Measure(union(*arrays(pairs))).up_to(np.array(times, np.int64)).tolist() == expected


@given(intervals, st.randoms())
def test_the_order_of_rows_does_not_matter(pairs: list[list[int]], random) -> None:
    shuffled = random.sample(pairs, len(pairs))
    one, other = union(*arrays(pairs)), union(*arrays(shuffled))
    assert (one.starts.tolist(), one.ends.tolist()) == (other.starts.tolist(), other.ends.tolist())


def test_measure_of_nothing_is_zero() -> None:
    assert Measure(EMPTY).within(np.array([0]), np.array([10])).tolist() == [0]
