"""Held against several accepted runs: they are pooled, their spread counts, and what is not comparable is left out."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from math import gamma, pi, sqrt

import numpy as np
import pytest
from analysis_values import MS
from snapshots import USUAL, lane_of, simulated, snapshot_of, steps_of_ms, without_steps

from gapfinder.compare import change as changes
from gapfinder.compare.accepted import Accepted
from gapfinder.compare.change import MOST_RUNS, spread_of
from gapfinder.compare.check import check
from gapfinder.compare.comparable import Aspect
from gapfinder.compare.metrics import find_metric
from gapfinder.compare.thresholds import parse_limits
from gapfinder.compare.verdict import Outcome, Result

LIMIT = parse_limits(["exposed_ms_per_step:+10%"])
EXPOSED = find_metric("exposed_ms_per_step")


def steady(exposed: float, *, digest: str = "new", order: tuple[int, ...] = (0, 1), idle: float = 5.0):
    """A training whose steps are all alike."""
    steps = steps_of_ms(*[{**USUAL, "exposed": exposed, "idle": idle}] * 8)
    return snapshot_of(*(lane_of(steps, rank=rank) for rank in order), digest=digest)


def accepted(*runs, branch: str = "main") -> Accepted:
    return Accepted(branch=branch, runs=tuple(replace(run, digest=f"run {at}") for at, run in enumerate(runs)))


def held(candidate, *exposed: float, limits=LIMIT):
    return check(candidate, accepted(*map(steady, exposed)), limits=limits)


def test_one_accepted_run_is_a_baseline():
    of_history, of_baseline = held(steady(12), 10), check(steady(12), steady(10, digest="old"), limits=LIMIT)
    assert of_history.judgements == of_baseline.judgements
    assert (of_history.outcome, of_history.judgements[0].spread) == (Outcome.FAIL, None)
    assert of_history.notes == ("held against the last accepted run of main",)


def test_the_steps_of_several_runs_are_pooled():
    (one,) = held(steady(10.5), 9, 10, 11).judgements
    assert (one.old, one.new, one.old_runs, one.old_steps, one.new_steps) == (10 * MS, 10.5 * MS, 3, 24, 8)
    assert "n = 24 of 3 runs and 8 steps" in one.sentence


def test_what_is_within_the_spread_of_two_runs_is_no_breach():
    assert held(steady(12.5), 10, 10).outcome is Outcome.FAIL
    found = held(steady(12.5), 8, 13)
    assert (found.outcome, found.judgements[0].spread) == (Outcome.INCONCLUSIVE, 2.5 * MS)
    assert "but accepted runs are as far apart: run it again" in found.unknown[0]
    assert held(steady(13.5), 8, 13).outcome is Outcome.FAIL


def test_a_value_that_is_kept_is_kept_whatever_the_spread():
    assert held(steady(10.5), 7, 10, 13).outcome is Outcome.PASS
    better = held(steady(8), 7, 10, 13)
    assert [one.result for one in better.judgements] == [Result.KEPT]
    assert [one.result for one in held(steady(8), 10, 10, 10).judgements] == [Result.IMPROVED]


def noisy(rng: np.random.Generator, seed: int, *, times: float = 1.0):
    """A run that is as a whole 6 % faster or slower than another one."""
    return simulated(seed=seed, noise=0.02, exposed=times * USUAL["exposed"] * float(np.exp(0.06 * rng.normal())))


def test_p100_runs_that_vary_by_themselves_cry_wolf_with_one_baseline_and_not_with_five_runs():
    rng = np.random.default_rng(7)
    outcomes = {"one": Counter(), "five": Counter(), "doubled": Counter()}
    for trial in range(60):
        runs = [noisy(rng, 100 * trial + at) for at in range(5)]
        candidate = noisy(rng, 100 * trial + 50)
        outcomes["one"][check(candidate, runs[-1], limits=LIMIT).outcome] += 1
        outcomes["five"][check(candidate, accepted(*runs), limits=LIMIT).outcome] += 1
        doubled = noisy(rng, 100 * trial + 51, times=2)
        outcomes["doubled"][check(doubled, accepted(*runs), limits=LIMIT).outcome] += 1
    assert outcomes["one"][Outcome.FAIL] >= 5
    assert outcomes["five"][Outcome.FAIL] <= 1
    assert outcomes["doubled"][Outcome.FAIL] >= 58


def test_the_spread_is_a_prediction_interval():
    for freedom, t in enumerate(changes._STUDENT, start=2):
        x = np.linspace(0, t, 20_001)
        scale = gamma((freedom + 1) / 2) / (sqrt(freedom * pi) * gamma(freedom / 2))
        half = np.trapezoid(scale * (1 + x**2 / freedom) ** (-(freedom + 1) / 2), x)
        assert half == pytest.approx(0.475, abs=1e-4)
    rng = np.random.default_rng(1)
    drawn = rng.normal(100, 5, (4_000, 6))
    beyond = [new - np.mean(runs) > spread_of(runs, old=float(np.mean(runs)), metric=EXPOSED) for *runs, new in drawn]
    assert np.mean(beyond) == pytest.approx(0.025, abs=0.008)


@pytest.mark.parametrize(("metric", "worst"), [("exposed_ms_per_step", 4.0), ("overlap_ratio", 6.0)])
def test_the_spread_reaches_at_least_to_the_worst_run(metric, worst):
    values = [4.0, 6.0, 14.0] if metric == "exposed_ms_per_step" else [0.4, 1.6]
    spread = spread_of(values, old=10.0 if len(values) == 3 else 1.0, metric=find_metric(metric))
    assert spread >= (worst if len(values) == 3 else 0.6)
    assert spread_of([1.0], old=1.0, metric=EXPOSED) is None
    assert spread_of([1.0, float("nan")], old=1.0, metric=EXPOSED) is None


def test_lanes_are_pooled_by_rank():
    def pair(fast: float, slow: float, order: tuple[int, int]):
        steps = {0: fast, 1: slow}
        return snapshot_of(
            *(lane_of(steps_of_ms(*[{**USUAL, "exposed": steps[rank]}] * 8), rank=rank) for rank in order), digest="new"
        )

    runs = accepted(pair(5, 20, (0, 1)), pair(5, 20, (1, 0)), pair(5, 20, (0, 1)))
    found = check(pair(5, 20, (1, 0)), runs, limits=parse_limits(["exposed_ms_per_step@every:+10%"]))
    assert [(one.lane, one.old, one.new) for one in found.judgements] == [
        ("rank 0", 5 * MS, 5 * MS),
        ("rank 1", 20 * MS, 20 * MS),
    ]
    assert found.outcome is Outcome.PASS


# What cannot be compared


def test_without_an_accepted_run_there_is_no_answer():
    found = held(steady(10))
    assert (found.outcome, found.exit_code) == (Outcome.INCONCLUSIVE, 3)
    assert found.reasons[0].startswith("no run of main is accepted yet: `gapfinder history add` stores a good one")


def test_runs_that_are_not_comparable_are_left_out():
    alone = steady(99, order=(0,))
    runs = Accepted(branch="main", runs=(steady(10, digest="a"), alone, steady(10, digest="new")))
    found = check(steady(10), runs, limits=LIMIT)
    assert (found.outcome, found.judgements[0].old_runs) == (Outcome.PASS, 1)
    assert found.notes[0] == "held against 1 of the last 3 accepted runs of main"


def test_none_that_is_comparable_is_inconclusive_with_the_reason_of_the_newest():
    found = check(steady(10), accepted(steady(10, order=(0,)), steady(10, order=(0, 1, 2, 3))), limits=LIMIT)
    assert found.outcome is Outcome.INCONCLUSIVE
    (reason, *_) = found.reasons
    assert reason.startswith(
        "none of the last 2 accepted runs of main can be compared: for the newest, the baseline has 4"
    )
    assert "--allow-different gpus" in reason


def test_allowed_runs_of_another_size_are_pooled_with_those_as_large_as_the_newest():
    runs = accepted(steady(10, order=(0,)), steady(10, order=(0, 1, 2, 3)), steady(10, order=(0, 1, 2, 3)))
    found = check(steady(10), runs, limits=LIMIT, allowed=[Aspect.GPUS, Aspect.RANKS])
    assert (found.outcome, found.judgements[0].old_runs) == (Outcome.PASS, 2)


def test_a_run_that_could_not_measure_it_is_left_out():
    runs = accepted(steady(10), without_steps(steady(10)))
    found = check(steady(10), runs, limits=LIMIT)
    assert (found.outcome, found.judgements[0].old_runs) == (Outcome.PASS, 1)
    none = check(steady(10), accepted(without_steps(steady(10))), limits=LIMIT)
    assert (none.outcome, "in the baseline" in none.unknown[0]) == (Outcome.INCONCLUSIVE, True)


def test_as_many_runs_are_pooled_as_the_table_has():
    runs = accepted(*[steady(10)] * MOST_RUNS)
    assert check(steady(10), runs, limits=LIMIT).judgements[0].old_runs == MOST_RUNS == 20
