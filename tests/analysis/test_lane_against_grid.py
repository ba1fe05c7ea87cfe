"""Budget, gaps, holes and steps of random lanes against a grid that is filled nanosecond by nanosecond."""

from __future__ import annotations

import itertools
from dataclasses import astuple

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from profiles import NCCL, G, K, M, N, R, profile

from gapfinder.analysis import analyze
from gapfinder.budget import Budget
from gapfinder.model import Lane
from gapfinder.settings import Settings

GRID = 60
KINDS = ("compute", "communication", "copy", "graph")

operations = st.lists(
    st.tuples(st.sampled_from(KINDS), st.integers(0, GRID - 1), st.integers(0, 12)).map(
        lambda row: (row[0], row[1], min(row[1] + row[2], GRID))
    ),
    min_size=1,
    max_size=14,
)
edges = st.tuples(st.integers(0, GRID - 1), st.integers(1, GRID)).filter(lambda w: w[0] < w[1])
Rows = list[tuple[str, int, int]]


def make(kind: str, start: int, end: int, correlation: int = -1) -> K | M | G:
    if kind == "compute":
        return K(start, end, correlation=correlation)
    if kind == "communication":
        return K(start, end, NCCL, stream=9, correlation=correlation)
    return M(start, end, correlation=correlation) if kind == "copy" else G(start, end, correlation=correlation)


def grids(rows: Rows) -> dict[str, np.ndarray]:
    cells = {kind: np.zeros(GRID, bool) for kind in KINDS}
    for kind, start, end in rows:
        for nanosecond in range(start, end):
            cells[kind][nanosecond] = True
    return cells


def expected_budget(rows: Rows, start: int, end: int) -> Budget:
    compute, communication, copy, graph = (grids(rows)[kind][start:end] for kind in KINDS)
    return Budget(
        window_ns=end - start,
        compute_only_ns=int((compute & ~communication).sum()),
        hidden_ns=int((compute & communication).sum()),
        exposed_ns=int((communication & ~compute).sum()),
        copy_only_ns=int((copy & ~compute & ~communication & ~graph).sum()),
        graph_only_ns=int((graph & ~compute & ~communication).sum()),
        idle_ns=int((~(compute | communication | copy | graph)).sum()),
    )


def runs(cells: np.ndarray, shortest: int) -> list[tuple[int, int]]:
    """Return the maximal runs of true cells that are `shortest` or longer."""
    found, place = [], 0
    for value, group in itertools.groupby(cells.tolist()):
        length = len(list(group))
        if value and length >= shortest:
            found.append((place, place + length))
        place += length
    return found


def measured(rows: Rows, **choices: object) -> Lane | None:
    lanes = analyze([profile(*(make(*row) for row in rows))], settings=Settings(top=100, **choices)).lanes
    return lanes[0] if lanes else None


def span(rows: Rows) -> tuple[int, int] | None:
    timed = [(start, end) for _, start, end in rows if end > start]
    return (min(s for s, _ in timed), max(e for _, e in timed)) if timed else None


@given(operations, st.integers(1, 6))
@settings(deadline=None, max_examples=60)
def test_budget_gaps_and_holes_equal_the_grid(rows: Rows, shortest: int) -> None:
    lane = measured(rows, min_gap_ns=shortest)
    window = span(rows)
    if lane is None:
        assert window is None
        return
    start, end = window
    assert (lane.window.start_ns, lane.window.end_ns) == window
    assert lane.budget == expected_budget(rows, start, end)
    compute, communication, copy, graph = (grids(rows)[kind] for kind in KINDS)
    gaps = runs((~(compute | communication | copy | graph))[start:end], shortest)
    lengths = [e - s for s, e in gaps]
    assert (lane.gaps.count, lane.gaps.total_ns, lane.gaps.longest_ns) == (
        len(gaps),
        sum(lengths),
        max(lengths, default=0),
    )
    holes = sorted((s + start, e + start) for s, e in runs((~(compute | graph))[start:end], shortest))
    assert sorted((h.start_ns, h.end_ns) for h in lane.holes.top) == holes
    for hole in lane.holes.top:
        inside = expected_budget(rows, hole.start_ns, hole.end_ns)
        parts = (inside.idle_ns, inside.exposed_ns, inside.copy_only_ns)
        assert (hole.idle_ns, hole.exposed_ns, hole.copy_only_ns) == parts
    assert sum(lane.causes.values()) == lane.holes.total_ns == sum(e - s for s, e in holes)


@given(operations, edges)
@settings(deadline=None, max_examples=60)
def test_a_window_clips_what_crosses_its_edge(rows: Rows, window: tuple[int, int]) -> None:
    whole = span(rows)
    if whole is None or whole[1] <= window[0] or window[1] <= whole[0]:
        return
    lane = measured(rows, min_gap_ns=1, window=window)
    assert lane.budget == expected_budget(rows, *window)
    if lane.overlap_ratio is not None:
        assert lane.overlap_ratio == lane.budget.hidden_ns / lane.budget.communication_ns


@given(operations, st.lists(st.integers(0, GRID), min_size=2, max_size=6, unique=True).map(sorted), st.data())
@settings(deadline=None, max_examples=60)
def test_steps_equal_a_search_through_all_rows(rows: Rows, cuts: list[int], data: st.DataObject) -> None:
    """Each operation has a launch call of its own at a random time; ranges lie end to end from the first cut on."""
    launched = data.draw(st.lists(st.integers(0, GRID), min_size=len(rows), max_size=len(rows)))
    made = [make(*row, correlation=place) for place, row in enumerate(rows)]
    calls = [R(time, time + 1, place) for place, time in enumerate(launched)]
    ranges = [N(s, e, f"step {place}") for place, (s, e) in enumerate(itertools.pairwise(cuts))]
    lanes = analyze([profile(*made, *calls, *ranges)]).lanes
    windows = expected_steps(rows, launched, cuts)
    if not lanes or len(windows) == 0:
        assert not lanes or lanes[0].steps is None
        return
    kept = windows if len(windows) == 1 else [w for w in windows if w[0] != 0]
    found = lanes[0].steps.items if lanes[0].steps else ()
    assert [(s.number, s.window.start_ns, s.window.end_ns) for s in found] == kept
    budgets = [expected_budget(rows, s, e) for _, s, e in kept]
    assert [s.budget for s in found] == budgets
    if lanes[0].steps:
        assert astuple(lanes[0].steps.total) == tuple(map(sum, zip(*map(astuple, budgets), strict=True)))


def expected_steps(rows: Rows, launched: list[int], cuts: list[int]) -> list[tuple[int, int, int]]:
    mine = []
    for number, (begin, finish) in enumerate(itertools.pairwise(cuts)):
        inside = [
            (s, e) for (_, s, e), time in zip(rows, launched, strict=True) if begin <= time < finish and e > s
        ]  # fmt: skip
        if inside:
            mine.append((number, min(s for s, _ in inside), max(e for _, e in inside)))
    ends = [start for _, start, _ in mine[1:]] + [end for _, _, end in mine[-1:]]
    return [(number, start, end) for (number, start, _), end in zip(mine, ends, strict=True) if end > start]
