"""What asks for a capture, what does not, and what is usual afterwards."""

from __future__ import annotations

import pytest
from step_times import BEGUN, S, Training, captures, rank_steps

from gapfinder.errors import InputError
from gapfinder.watch.judge import Judge
from gapfinder.watch.model import Trigger, TriggerKind
from gapfinder.watch.rules import Rules

QUIET = Rules(healthy_at=None)
STEP = S // 20


def kinds(training, rules=QUIET):
    return [(trigger.kind, trigger.rank) for trigger, _ in captures(Judge(rules), training)]


def feed(judge, *, first, end, step_ns=STEP, apart=(0.4, 0.4), start=BEGUN, **process):
    """Equal steps of all ranks, polled every fifth of a second; returns when the last ended."""
    ends = [start + (number + 1 - first) * step_ns for number in range(first, end)]
    padded = [*[start] * first, *ends]
    for at in range(first, end, 4):
        upto = min(at + 4, end)
        ranks = tuple(
            rank_steps(rank, padded, [round(share * step_ns)] * end, at, upto, **process)
            for rank, share in enumerate(apart)
        )
        judge.see(ranks, now_ns=padded[upto - 1])
    return ends[-1]


@pytest.mark.parametrize("wrong", [{"drift": 0.0}, {"lag": -1.0}, {"sustained_ns": 0}, {"every_ns": 0}])
def test_rules_that_can_never_or_always_be_met_are_refused(wrong):
    with pytest.raises(InputError, match="must be above 0"):
        Rules(**wrong)


def test_nothing_is_known_before_any_step():
    judge = Judge(QUIET)
    judge.see((), now_ns=BEGUN)
    assert judge.usual_ns is None
    assert judge.trigger(BEGUN) is None


def test_what_is_usual_is_learnt_from_the_first_steps_after_warm_up():
    judge = Judge(QUIET)
    end = feed(judge, first=0, end=10, step_ns=10 * STEP)
    assert judge.usual_ns is None
    feed(judge, first=10, end=300, start=end)
    assert judge.usual_ns == pytest.approx(STEP, rel=0.001)


def test_a_recovery_is_no_fault_and_the_next_rise_is_one():
    faults = {400: 1.4, 1_000: 1 / 1.4, 1_600: 1.4}
    assert kinds(Training(step_s=0.05, steps=2_200, slower=faults)) == [(TriggerKind.DRIFT, None)] * 2


def test_a_new_level_stays_usual_and_a_rise_from_there_is_another_fault():
    training = Training(step_s=0.05, steps=2_000, slower={400: 1.4, 1_300: 1.4})
    first, second = [trigger for trigger, _ in captures(Judge(QUIET), training)]
    assert second.before_ns == pytest.approx(first.now_ns, rel=0.01)
    assert second.now_ns == pytest.approx(1.4 * 1.4 * STEP, rel=0.01)


def test_what_creeps_is_held_against_what_was_learnt():
    creeping = dict.fromkeys(range(600, 3000, 20), 1.002)
    ((trigger, _),) = captures(Judge(QUIET), Training(step_s=0.05, steps=3_000, slower=creeping))[:1]
    assert trigger.kind is TriggerKind.DRIFT
    assert trigger.before_ns == pytest.approx(STEP, rel=0.02)


def test_of_a_lag_that_makes_all_steps_longer_the_rank_is_named():
    training = Training(step_s=0.05, steps=1_000, ranks=4, lags={400: (2, 2.0)}, apart=0.6)
    assert kinds(training) == [(TriggerKind.LAG, 2)]


def test_longer_data_loading_on_all_ranks_is_no_lag():
    assert kinds(Training(step_s=0.05, steps=1_000, ranks=4, slower={400: 1.6})) == [(TriggerKind.DRIFT, None)]


def test_a_lag_that_costs_next_to_nothing_of_the_step_is_none():
    assert kinds(Training(step_s=0.05, steps=1_200, lags={400: (1, 1.5)}, apart=0.02)) == []


def test_one_lag_and_then_another_rank():
    training = Training(step_s=0.05, steps=2_000, ranks=3, lags={400: (1, 1.5), 1_200: (2, 1.5)}, apart=0.3)
    assert kinds(training)[0] == (TriggerKind.LAG, 1)


def test_a_burst_that_is_over_soon_is_none():
    assert kinds(Training(step_s=0.05, steps=1_500, slower={400: 1.5, 520: 1 / 1.5})) == []  # 9 s


def test_disturbed_steps_are_judged_by_nobody():
    judge = Judge(QUIET)
    end = feed(judge, first=0, end=400)
    judge.disturbed(end + 1, None)
    slow = feed(judge, first=400, end=800, step_ns=2 * STEP, start=end + 1)
    assert judge.trigger(slow) is None
    judge.disturbed(end + 1, slow + 1)
    feed(judge, first=800, end=1_100, step_ns=2 * STEP, start=slow + 2)
    assert judge.trigger(slow + 40 * S).kind is TriggerKind.DRIFT


def test_a_checkpoint_of_a_minute_and_a_half_is_no_stall_and_three_minutes_are():
    judge = Judge(QUIET)
    end = feed(judge, first=0, end=400)
    assert judge.trigger(end + 90 * S) is None
    stall = judge.trigger(end + 180 * S)
    assert (stall.kind, stall.step, stall.rank) == (TriggerKind.STALL, 399, None)
    assert "no step has ended for 180.0 s" in stall.sentence
    judge.after_capture(stall)
    assert judge.trigger(end + 400 * S) is None


def test_a_pause_as_long_as_one_before_is_no_stall():
    judge = Judge(QUIET)
    end = feed(judge, first=0, end=400)
    end = feed(judge, first=400, end=404, step_ns=100 * S, start=end)
    end = feed(judge, first=404, end=800, start=end)
    assert judge.trigger(end + 190 * S) is None
    assert judge.trigger(end + 210 * S).kind is TriggerKind.STALL


def test_the_rank_that_all_others_wait_for_is_named():
    judge = Judge(QUIET)
    end = feed(judge, first=0, end=400)
    judge.see((rank_steps(0, [end + STEP] * 401, [STEP] * 401, 400, 401),
               rank_steps(1, [end] * 400, [STEP] * 400, 400, 400)), now_ns=end + STEP)  # fmt: skip
    assert judge.trigger(end + 180 * S).rank == 1


def test_a_restarted_rank_is_learnt_anew():
    judge = Judge(QUIET)
    end = feed(judge, first=0, end=400)
    begun = end + 30 * S
    end = feed(judge, first=0, end=400, step_ns=2 * STEP, start=begun, pid=7, begun=begun)
    assert judge.trigger(end) is None
    assert judge.usual_ns == pytest.approx(2 * STEP, rel=0.001)


def test_of_two_processes_of_a_rank_the_later_one_counts():
    judge = Judge(QUIET)
    old = rank_steps(0, [BEGUN], [1], 0, 1, pid=1)
    new = rank_steps(0, [BEGUN + S] * 5, [1] * 5, 0, 5, pid=2, begun=BEGUN + 1)
    judge.see((new, old), now_ns=BEGUN + S)
    assert judge.trigger(BEGUN + S) is None
    judge.ask()
    assert judge.trigger(BEGUN + S).step == 4


def test_ranks_without_steps_in_common_are_compared_all_the_same():
    judge = Judge(QUIET)
    end = feed(judge, first=0, end=600, apart=(0.4, 0.4, 0.8))
    found = judge.trigger(end)
    assert (found.kind, found.rank) == (TriggerKind.LAG, 2)
    assert "+100.0 %" in found.sentence


def test_healthy_once_and_only_while_steps_are_usual():
    rules = Rules(healthy_at=500)
    for ranks in (1, 2):
        calm = captures(Judge(rules), Training(step_s=0.05, steps=1_000, ranks=ranks))
        at = [(trigger.kind, trigger.step) for trigger, _ in calm]
        assert at == [(TriggerKind.HEALTHY, pytest.approx(500, abs=5))]
    assert kinds(Training(step_s=0.05, steps=1_000, slower={400: 1.4}), rules) == [(TriggerKind.DRIFT, None)]


def test_given_steps_each_once_and_a_schedule():
    training = Training(step_s=0.05, steps=600)
    at = [trigger.step for trigger, _ in captures(Judge(Rules(healthy_at=None, at_steps=(300, 100, 100))), training)]
    assert at == [pytest.approx(100, abs=5), pytest.approx(300, abs=5)]
    every = [now for _, now in captures(Judge(Rules(healthy_at=None, every_ns=10_000_000_000)), training)]
    assert len(every) == 2
    assert every[0] - BEGUN == pytest.approx(10 * S, abs=S)


def test_a_trigger_stays_until_it_is_taken():
    judge = Judge(QUIET)
    judge.ask()
    asked = judge.trigger(BEGUN)
    assert judge.trigger(BEGUN + S) == asked == Trigger(
        kind=TriggerKind.ASKED, step=0, sentence="somebody asked for a capture"
    )  # fmt: skip
    judge.after_capture(asked)
    assert judge.trigger(BEGUN + S) is None
