"""Changes of level in simulated series: none in noise, and where they are when they are there."""

from __future__ import annotations

import numpy as np
import pytest

from gapfinder.compare.history.change_points import change_points
from gapfinder.compare.history.results import SHORTEST_LEVEL

SEEDS = range(100)
NOISE = {
    "normal": lambda random, n: random.normal(100, 3, n),
    "skewed": lambda random, n: random.lognormal(0, 0.3, n),
    "heavy tails": lambda random, n: random.standard_t(2, n),
    "whole numbers": lambda random, n: np.round(random.normal(10, 1, n)),
}


def places(values) -> list[int]:
    return [one.at for one in change_points(list(values))]


@pytest.mark.parametrize(
    "values", [[], [1.0], [1.0, 2.0], [5.0] * 40, [1.0] * (SHORTEST_LEVEL - 1) + [2.0] * SHORTEST_LEVEL]
)
def test_too_few_or_equal_runs_have_no_change(values):
    assert change_points(values) == ()


@pytest.mark.parametrize("noise", NOISE)
def test_noise_has_no_change_in_a_hundred_series(noise):
    marked = [seed for seed in SEEDS if places(NOISE[noise](np.random.default_rng(seed), 40))]
    assert marked == []


def test_one_bad_run_is_no_level_and_hides_none():
    random = np.random.default_rng(1)
    steady = random.normal(100, 2, 30)
    steady[12] = 900.0
    assert places(steady) == []
    stepped = np.concatenate([random.normal(100, 2, 20), random.normal(112, 2, 20)])
    stepped[7] = 900.0
    assert places(stepped) == [20]


def test_a_step_of_five_deviations_is_found_where_it_is():
    found = []
    for seed in range(20):
        random = np.random.default_rng(seed)
        found.append(places(np.concatenate([random.normal(100, 2, 15), random.normal(110, 2, 6)])))
    assert sum(one == [15] for one in found) >= 18
    assert all(len(one) <= 1 for one in found)


def test_up_and_down_again_are_two_changes_with_the_medians_between():
    values = [10.0, 11.0, 10.0, 12.0, 11.0, 10.0] * 3 + [20.0, 21.0, 22.0, 21.0, 20.0] * 3 + [5.0, 6.0, 5.0, 6.0] * 4
    one, other = change_points(values)
    assert (one.at, one.before, one.after) == (18, 10.5, 21.0)
    assert (other.at, other.before, other.after) == (33, 21.0, 5.5)


def test_the_unit_of_the_values_does_not_matter():
    random = np.random.default_rng(3)
    values = np.concatenate([random.normal(100, 2, 15), random.normal(110, 2, 15)])
    assert places(values) == places(values / 1e9) == places(values * 1e9) == [15]


def test_the_same_values_give_the_same_changes():
    random = np.random.default_rng(4)
    values = np.concatenate([random.normal(100, 5, 20), random.normal(104, 5, 20)]).tolist()
    assert change_points(values) == change_points(values)
