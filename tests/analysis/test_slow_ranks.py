"""Slow ranks on the host: quiet where all are alike, then flagged with what differs."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

import pytest
from analysis_values import MS, host_steps, training_process
from hypothesis import given
from hypothesis import strategies as st

from gapfinder.analysis.slow_ranks import find_slow_ranks, slow_rank_notes
from gapfinder.processes import HostStep, HostSteps, Phase, TrainingProcess


def synchronised(*forwards: int, backward: int = 20, own: Phase = Phase.FORWARD) -> list[TrainingProcess]:
    """Return a job whose steps end together: who is quicker outside backward is longer in it; in ms."""
    latest = max(forwards)
    return [
        training_process(rank, host_steps({own: ns, Phase.BACKWARD: backward + latest - ns}, count=8))
        for rank, ns in enumerate(forwards)
    ]


def changed(process: TrainingProcess, items: list[HostStep]) -> TrainingProcess:
    assert process.steps is not None
    sums = {phase: sum(item.phases[phase] for item in items) for phase in Phase}
    steps: HostSteps = replace(process.steps, items=tuple(items), phases=sums)
    return replace(process, steps=steps)


def flagged(processes: list[TrainingProcess]) -> list[int]:
    return [one.process for one in find_slow_ranks(processes)]


@pytest.mark.parametrize("forwards", [(), (10,), (10, 10), (10, 11, 12), (10, 12), (12, 10, 10, 10)])
def test_ranks_that_are_alike_are_not_slow(forwards: tuple[int, ...]) -> None:
    assert flagged(synchronised(*forwards) if forwards else []) == []


def test_the_slower_of_two_is_slow() -> None:
    (slow,) = find_slow_ranks(synchronised(10, 30))
    assert (slow.process, slow.steps, slow.own_ratio) == (1, (8, 8), 3.0)
    assert (slow.phase, slow.phase_ns, slow.lost_ns) == (Phase.FORWARD, 20 * MS, 160 * MS)


@pytest.mark.parametrize("phase", [phase for phase in Phase if phase is not Phase.BACKWARD])
def test_what_differs_is_named(phase: Phase) -> None:
    (slow,) = find_slow_ranks(synchronised(10, 10, 30, own=phase))
    assert (slow.process, slow.phase) == (2, phase)


def test_the_slowest_comes_first() -> None:
    assert flagged(synchronised(10, 30, 10, 50, 10)) == [3, 1]


def test_little_against_the_step_is_not_slow() -> None:
    assert flagged(synchronised(1, 10, backward=90)) == []
    assert flagged(synchronised(1, 12, backward=88)) == [1]


def test_who_is_slow_in_half_of_the_steps_only_is_not_slow() -> None:
    quick, slow = synchronised(10, 30)
    assert quick.steps
    assert slow.steps
    half = changed(slow, [*slow.steps.items[:4], *quick.steps.items[4:]])
    most = changed(slow, [*slow.steps.items[:5], *quick.steps.items[5:]])
    assert flagged([quick, half]) == []
    assert [one.steps for one in find_slow_ranks([quick, most])] == [(5, 8)]


def test_only_steps_of_one_number_are_compared() -> None:
    quick, slow = synchronised(10, 30)
    assert slow.steps
    later = changed(slow, [replace(item, number=item.number + 6) for item in slow.steps.items])
    assert [one.steps for one in find_slow_ranks([quick, later])] == [(2, 2)]
    apart = changed(slow, [replace(item, number=item.number + 60) for item in slow.steps.items])
    assert flagged([quick, apart]) == []
    assert slow_rank_notes([quick, apart]) == (
        "slow ranks cannot be known: no two processes of one job have backward ranges in a step of one number",
    )
    assert slow_rank_notes([quick, later]) == slow_rank_notes([quick]) == ()


def test_processes_of_two_jobs_are_not_compared() -> None:
    quick, slow = synchronised(10, 30)
    assert flagged([quick, replace(slow, world_size=2)]) == []
    again = replace(slow, rank=0)
    assert flagged([quick, again]) == []
    two_runs = [quick, slow, *(replace(one, file="later.sqlite") for one in synchronised(40, 10))]
    assert flagged(two_runs) == [2, 1]


def test_without_backward_ranges_nobody_knows_who_waited() -> None:
    quick, slow = (training_process(rank, host_steps({Phase.FORWARD: ns})) for rank, ns in enumerate((10, 30)))
    assert flagged([quick, slow]) == []
    assert len(slow_rank_notes([quick, slow])) == 1


steps_of_ranks = st.lists(
    st.lists(st.one_of(st.none(), st.tuples(st.integers(0, 9), st.integers(1, 9))), min_size=3, max_size=3),
    min_size=1,
    max_size=5,
)


@given(steps_of_ranks)
def test_the_formula_of_the_documentation(rows: list[list[tuple[int, int] | None]]) -> None:
    """A process is flagged exactly where the words of docs/meaning.md say so, computed one by one."""
    processes = [_process(rank, row) for rank, row in enumerate(rows)]
    known = {rank: row for rank, row in enumerate(rows) if any(row)}
    expected = []
    for rank, row in known.items():
        slow = compared = 0
        for number, step in enumerate(row):
            others = [other[number] for place, other in known.items() if place != rank and other[number]]
            if step is None or not others:
                continue
            compared += 1
            usual = median(own for own, _ in others)
            length = median(own + backward for own, backward in [step, *others])
            slow += step[0] > 1.2 * usual and step[0] - usual >= 0.1 * length
        if 2 * slow > compared:
            expected.append((rank, slow, compared))
    assert sorted((one.process, *one.steps) for one in find_slow_ranks(processes)) == expected


def _process(rank: int, row: list[tuple[int, int] | None]) -> TrainingProcess:
    base = host_steps({Phase.FORWARD: 1}, count=3)
    items = []
    for number, (item, step) in enumerate(zip(base.items, row, strict=True)):
        if step is not None:
            phases = dict.fromkeys(Phase, 0) | {Phase.FORWARD: step[0], Phase.BACKWARD: step[1]}
            items.append(replace(item, number=number, start_ns=0, end_ns=sum(step), phases=phases))
    process = changed(training_process(rank, base), items)
    return process if items else replace(process, steps=None)
