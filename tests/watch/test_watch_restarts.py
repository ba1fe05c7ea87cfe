"""A training that is started again, as torchrun does: told once, learnt anew, and neither a stall nor a fault."""

from __future__ import annotations

import os
import subprocess

import pytest
from step_times import BEGUN, S, rank_steps

from gapfinder.watch.judge import Judge
from gapfinder.watch.restarts import Restarts
from gapfinder.watch.rules import Rules

STEP = S // 20


@pytest.fixture
def gone() -> int:
    """The number of a process that has ended."""
    with subprocess.Popen(["true"]) as process:
        process.wait()
    return process.pid


def process(*, begun: int, pid: int, first: int = 0, end: int = 40, ranks: int = 2):
    """One poll of processes that began then; each of their steps takes a twentieth of a second."""
    ends = [begun + (number + 1) * STEP for number in range(end)]
    return [rank_steps(rank, ends, [STEP // 3] * end, first, end, pid=pid, begun=begun + rank) for rank in range(ranks)]


def test_a_training_that_goes_on_was_not_started_again():
    restarts = Restarts()
    assert restarts.see([]) is None
    for first in (0, 10, 20):
        assert restarts.see(process(begun=BEGUN, pid=os.getpid(), first=first, end=first + 10)) is None


def test_two_trainings_side_by_side_are_no_restart():
    restarts = Restarts()
    restarts.see(process(begun=BEGUN, pid=os.getpid()))
    assert restarts.see(process(begun=BEGUN + S, pid=os.getppid())) is None


def test_each_restart_is_told_once_for_all_ranks(gone):
    restarts = Restarts()
    assert restarts.see(process(begun=BEGUN, pid=gone)) is None
    (first, second) = process(begun=BEGUN + 60 * S, pid=gone, end=0)
    assert restarts.see([first]) == (
        "the training was started again (restart 1), after 40 steps: it counts them from 0 again, and what is usual is "
        "learnt anew"
    )
    assert restarts.see([first, second]) is None
    assert restarts.see(process(begun=BEGUN + 60 * S, pid=gone, end=1_450)) is None
    again = restarts.see(process(begun=BEGUN + 150 * S, pid=os.getpid(), end=0))
    assert again is not None
    assert "(restart 2), after 1,450 steps: " in again


def test_the_minute_without_steps_around_a_restart_is_no_stall_and_slower_steps_after_it_no_fault():
    judge = Judge(Rules(healthy_at=None, stall_least_ns=5_000_000_000, sustained_ns=2_000_000_000))
    now = BEGUN
    for first in range(0, 400, 4):
        now = BEGUN + (first + 4) * STEP
        judge.see(process(begun=BEGUN, pid=1, first=first, end=first + 4), now_ns=now)
        assert judge.trigger(now) is None
    for second in range(30):
        judge.see([], now_ns=now + second * S)
        assert judge.trigger(now + second * S) is None
    begun = now + 30 * S
    for second in range(30):
        judge.see(process(begun=begun, pid=2, end=0), now_ns=begun + second * S)
        assert judge.trigger(begun + second * S) is None
    first_end = begun + 30 * S
    for number in range(1, 200):
        ends = [first_end + one * 2 * STEP for one in range(number + 1)]
        ranks = [
            rank_steps(rank, ends, [STEP // 3] * len(ends), number - 1, number, pid=2, begun=begun) for rank in (0, 1)
        ]
        judge.see(ranks, now_ns=ends[number - 1])
        assert judge.trigger(ends[number - 1]) is None
    assert judge.usual_ns == pytest.approx(2 * STEP, rel=0.01)
