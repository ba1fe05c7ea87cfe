"""Whole trainings on noisy machines: nothing where all is well, and one capture in time where something is not."""

from __future__ import annotations

import pytest
from step_times import BEGUN, NOISES, S, Training, captures, checkpoints, lognormal, own, tails, uniform

from gapfinder.watch.judge import Judge
from gapfinder.watch.model import TriggerKind
from gapfinder.watch.rules import Rules

RULES = Rules(healthy_at=None)
FAULT = 600
IN_TIME_S = 15


def taken(training):
    return captures(Judge(RULES), training)


def found_after_s(training):
    """How long after the fault each capture came."""
    fault = int(training.times()[0][FAULT - 1])
    return [((now - fault) / S, trigger) for trigger, now in taken(training)]


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize(("step_s", "runs"), [(0.005, 2), (0.05, 8), (1.0, 2)])
def test_a_healthy_run_of_a_thousand_steps_captures_nothing(noise, step_s, runs):
    found = [taken(Training(step_s=step_s, noise=noise, seed=seed)) for seed in range(runs)]
    assert [run for run in found if run] == []


@pytest.mark.parametrize("noise", [uniform, own, tails, lognormal, checkpoints])
@pytest.mark.parametrize("kind", [TriggerKind.DRIFT, TriggerKind.LAG])
def test_a_planted_fault_is_captured_once_and_in_time(noise, kind):
    planted = {"slower": {FAULT: 1.5}} if kind is TriggerKind.DRIFT else {"lags": {FAULT: (1, 1.5)}}
    for seed in range(2):
        ((after, trigger),) = found_after_s(Training(step_s=0.05, noise=noise, seed=seed, steps=1_100, **planted))
        assert (trigger.kind, trigger.rank) == (kind, 1 if kind is TriggerKind.LAG else None)
        assert 7 <= after <= IN_TIME_S


@pytest.mark.parametrize("step_s", [0.005, 0.05, 0.5, 1.0])
def test_a_fifth_more_is_seen_on_a_calm_machine_whatever_the_length_of_steps(step_s):
    steps = (1_200 if step_s < 0.01 else FAULT) + round(30 / step_s)
    fault = 1_200 if step_s < 0.01 else FAULT
    training = Training(step_s=step_s, steps=steps, slower={fault: 1.2})
    ((trigger, now),) = taken(training)
    assert trigger.kind is TriggerKind.DRIFT
    assert 7 <= (now - training.times()[0][fault - 1]) / S <= IN_TIME_S
    assert (trigger.before_ns, trigger.now_ns) == pytest.approx((step_s * S, 1.2 * step_s * S), rel=0.01)
    assert "+20.0 %" in trigger.sentence


def test_a_tenth_more_is_none():
    assert taken(Training(step_s=0.05, steps=2_000, slower={FAULT: 1.1})) == []
    assert taken(Training(step_s=0.05, steps=2_000, lags={FAULT: (1, 1.1)})) == []


def test_a_few_steps_of_a_minute_are_enough():
    training = Training(step_s=60.0, steps=60, slower={40: 1.3})
    ((trigger, now),) = taken(training)
    assert trigger.kind is TriggerKind.DRIFT
    assert now - training.times()[0][39] <= 7 * 1.3 * 60 * S + S
    assert now > BEGUN
