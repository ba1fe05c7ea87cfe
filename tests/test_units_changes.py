"""Changes as text: with their sign, and nothing where nothing changed."""

from __future__ import annotations

import pytest

from gapfinder.units import format_change, format_growth, format_points_change


@pytest.mark.parametrize(
    ("ns", "text"), [(0, "0 ns"), (7, "+7 ns"), (-7, "-7 ns"), (7_638_000, "+7.638 ms"), (-12_340_000, "-12.34 ms")]
)
def test_a_longer_time_has_a_plus(ns, text):
    assert format_change(ns) == text


@pytest.mark.parametrize(
    ("before", "after", "text"),
    [
        (0, 0, "0.0 %"),
        (0, 5, "new"),
        (5, 0, "-100.0 %"),
        (1_000, 1_199, "+19.9 %"),
        (100_000, 99_999, "0.0 %"),
        (100_000, 100_001, "0.0 %"),
        (100, 299, "+199.0 %"),
        (10, 30, "3.0 times"),
        (10, 207, "20.7 times"),
        (1, 2_623, "2,623 times"),
    ],
)
def test_growth_is_of_what_was_before(before, after, text):
    assert format_growth(before, after) == text


@pytest.mark.parametrize(
    ("change", "text"), [(0.0, "0.0 points"), (0.091, "+9.1 points"), (-0.0004, "0.0 points"), (-0.25, "-25.0 points")]
)
def test_ratios_change_by_points(change, text):
    assert format_points_change(change) == text
