"""The bootstrap agrees with a slow one written here and with theory, and correlated lanes do not make it narrow."""

from __future__ import annotations

from math import isnan, sqrt
from statistics import median

import numpy as np
import pytest
from snapshots import lane_of, simulated, snapshot_of, steps_of_ms

from gapfinder.compare.metrics import Scope, find_metric
from gapfinder.compare.noise import estimates, intervals
from gapfinder.compare.samples import common_steps, sampled

MS = 1e6


def samples_of(snapshot, metric: str):
    return sampled(find_metric(metric), common_steps(snapshot.lanes))


def halfwidth(old, new, metric: str, scope: Scope = Scope.TOTAL) -> float:
    (interval,) = intervals(samples_of(old, metric), samples_of(new, metric), metric=find_metric(metric), scope=scope)
    return (interval.high - interval.low) / 2


def test_estimates_are_those_of_the_definitions():
    first = steps_of_ms({"compute": 8, "hidden": 3, "exposed": 1}, {"compute": 8, "hidden": 1, "exposed": 3})
    second = steps_of_ms({"compute": 8, "exposed": 4}, {"compute": 8, "hidden": 2, "exposed": 2})
    snapshot = snapshot_of(lane_of(first, rank=0), lane_of(second, rank=1))

    def values(metric, scope):
        found = estimates(samples_of(snapshot, metric), metric=find_metric(metric), scope=scope)
        return [(one.value, one.lane) for one in found]

    assert values("overlap_ratio", Scope.TOTAL) == [(6 / 16, None)]
    assert values("overlap_ratio", Scope.EVERY) == [(4 / 8, 0), (2 / 8, 1)]
    assert values("overlap_ratio", Scope.WORST) == [(2 / 8, 1)]
    assert values("exposed_ms_per_step", Scope.TOTAL) == [(2.5 * MS, None)]  # steps of 2.5 and 2.5 ms on average
    assert values("exposed_ms_per_step", Scope.EVERY) == [(2 * MS, 0), (3 * MS, 1)]
    assert values("exposed_ms_per_step", Scope.WORST) == [(3 * MS, 1)]
    assert values("step_mean", Scope.TOTAL) == [(12 * MS, None)]


def test_steps_are_matched_by_number_over_lanes():
    many = steps_of_ms({"compute": 1}, {"compute": 2}, {"compute": 3})
    snapshot = snapshot_of(lane_of(many[1:], rank=0), lane_of(many, rank=1))
    assert [[budget.window_ns / MS for budget in row] for row in common_steps(snapshot.lanes)] == [[2, 3], [2, 3]]


def test_numbers_that_start_again_are_matched_by_occurrence():
    epoch = steps_of_ms({"compute": 1}, {"compute": 2})
    lanes = (lane_of(epoch + epoch, rank=0), lane_of(epoch + epoch[:1], rank=1))
    assert [len(row) for row in common_steps(lanes)] == [3, 3]


@pytest.mark.parametrize(("metric", "statistic"), [("exposed_ms_per_step", median), ("step_mean", np.mean)])
def test_the_interval_is_that_of_a_slow_bootstrap(metric, statistic):
    old, new = simulated(seed=1, steps=15, lanes=1), simulated(seed=2, steps=15, lanes=1)
    rng = np.random.default_rng(99)
    part = find_metric(metric).part
    before, after = ([part(step.budget) for step in one.lanes[0].steps] for one in (old, new))
    drawn = [statistic(rng.choice(after, 15)) - statistic(rng.choice(before, 15)) for _ in range(4_000)]
    low, high = np.percentile(drawn, [2.5, 97.5])
    (interval,) = intervals(
        samples_of(old, metric), samples_of(new, metric), metric=find_metric(metric), scope=Scope.TOTAL
    )
    assert interval.low == pytest.approx(low, abs=0.1 * (high - low))
    assert interval.high == pytest.approx(high, abs=0.1 * (high - low))


def test_the_interval_of_a_mean_is_the_normal_one():
    old, new = simulated(seed=3, steps=200, lanes=1), simulated(seed=4, steps=200, lanes=1)
    lengths = [[step.budget.window_ns for step in one.lanes[0].steps] for one in (old, new)]
    expected = 1.96 * sqrt(sum(np.var(side, ddof=1) / len(side) for side in lengths))
    assert halfwidth(old, new, "step_mean") == pytest.approx(expected, rel=0.1)


def test_lanes_that_move_together_are_no_further_observations():
    alone = [simulated(seed=seed, lanes=1, correlation=1.0) for seed in (5, 6)]
    together = [simulated(seed=seed, lanes=16, correlation=1.0) for seed in (5, 6)]
    assert halfwidth(*together, "step_p50") == pytest.approx(halfwidth(*alone, "step_p50"), rel=0.15)
    independent = [simulated(seed=seed, lanes=16, correlation=0.0) for seed in (5, 6)]
    assert halfwidth(*independent, "step_p50") < 0.5 * halfwidth(*together, "step_p50")


def test_the_same_steps_give_the_same_interval():
    old, new = simulated(seed=7), simulated(seed=8)
    for scope in Scope:
        metric = find_metric("overlap_ratio")
        sides = samples_of(old, "overlap_ratio"), samples_of(new, "overlap_ratio")
        assert intervals(*sides, metric=metric, scope=scope) == intervals(*sides, metric=metric, scope=scope)


def test_a_lane_without_communication_has_no_ratio_and_is_never_the_worst():
    steps = steps_of_ms(*[{"compute": 8, "hidden": 1, "exposed": 1}] * 6)
    quiet = steps_of_ms(*[{"compute": 8}] * 6)
    snapshot = snapshot_of(lane_of(steps, rank=0), lane_of(quiet, rank=1))
    samples = samples_of(snapshot, "overlap_ratio")
    metric = find_metric("overlap_ratio")
    assert estimates(samples, metric=metric, scope=Scope.WORST)[0].lane == 0
    assert isnan(estimates(samples, metric=metric, scope=Scope.EVERY)[1].value)
    assert halfwidth(snapshot, snapshot, "overlap_ratio", Scope.WORST) == 0
