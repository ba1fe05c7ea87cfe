"""Step times for the record: rows of each rank, totals, and the steps that a capture holds."""

from __future__ import annotations

import pytest

from gapfinder.training.step_stream import RankSteps, Step
from gapfinder.watch.times import Times, Totals, whole_steps

MS = 1_000_000


def steps(*durations_ms: int | None, first: int = 0, begun_ms: int = 0) -> tuple[Step, ...]:
    ended, found = begun_ms, []
    for number, duration in enumerate(durations_ms, start=first):
        ended += duration or 0
        ns = None if duration is None else duration * MS
        found.append(Step(number=number, ended_at_ns=ended * MS, duration_ns=ns, apart_ns=(ns or 0) // 2))
    return tuple(found)


def rank(number: int, new: tuple[Step, ...]) -> RankSteps:
    return RankSteps(
        pid=number + 1,
        host="node",
        rank=number,
        local_rank=number,
        world_size=2,
        begun_at_ns=0,
        steps=new,
        total=len(new),
        missed=0,
    )


def test_nothing_is_known_before_the_second_step():
    times = Times()
    times.add([rank(0, steps(None))], is_disturbed=False)
    assert times.take_rows(at=1.0) == ()
    assert (times.totals.steps, times.totals.mean_ns, times.totals.percentile_ns(50)) == (0, None, None)


def test_a_row_is_about_what_came_since_the_last_one():
    times = Times()
    times.add([rank(0, steps(None, 10, 20, 30)), rank(1, steps(None, 40))], is_disturbed=True)
    first, second = times.take_rows(at=1.0)
    assert (first.rank, first.step, first.steps, first.mean_ns, first.longest_ns) == (0, 3, 3, 20 * MS, 30 * MS)
    assert (first.p50_ns, first.apart_ns, first.is_disturbed) == (20 * MS, 10 * MS, True)
    assert (second.rank, second.step, second.steps) == (1, 1, 1)
    times.add([rank(0, steps(50, first=4))], is_disturbed=False)
    (row,) = times.take_rows(at=2.0)
    assert (row.step, row.steps, row.p99_ns, row.is_disturbed) == (4, 1, 50 * MS, False)


def test_totals_hold_percentiles_to_one_percent_in_little_memory():
    totals = Totals()
    for number in range(1, 100_001):
        totals.add(number * 1000)
    assert totals.steps == 100_000
    assert totals.mean_ns == 50_000_500
    assert totals.percentile_ns(50) == pytest.approx(50_000_000, rel=0.01)
    assert totals.percentile_ns(99) == pytest.approx(99_000_000, rel=0.01)
    assert len(totals._classes) < 1500


def test_only_steps_that_began_and_ended_inside_are_whole():
    found = steps(None, 10, 10, 10, 10)
    assert [step.number for step in whole_steps(found, start_ns=5 * MS, end_ns=35 * MS)] == [2, 3]
    assert [step.number for step in whole_steps(found, start_ns=10 * MS, end_ns=31 * MS)] == [2, 3]
    assert whole_steps(found, start_ns=11 * MS, end_ns=29 * MS) == ()
    assert [step.number for step in whole_steps(found, start_ns=-1, end_ns=11 * MS)] == [1]
