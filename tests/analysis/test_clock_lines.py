"""A clock is held against another one by a line that outliers do not move, in integers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapfinder.analysis.clock_lines import REFERENCE, ClockLine, fit_line, usual_distance

S, US = 1_000_000_000, 1_000
UTC = 1_772_443_812_345_678_901


def exactly(time: int, *, at: int, offset: int, ppb: int) -> int:
    """How far a clock is ahead at its own `time`, in Python's unbounded integers."""
    return offset + (time - at) * ppb // S


@given(
    times=st.lists(st.integers(-(10**6) * S, 10**6 * S), min_size=1, max_size=5),
    offset=st.integers(-(10**18), 10**18),
    ppb=st.integers(-100_000, 100_000),
)
def test_a_line_is_exact_to_the_ns_over_eleven_days(times, offset, ppb):
    line = ClockLine(at_ns=UTC, offset_ns=offset, drift_ppb=ppb)
    shown = [UTC + time for time in times]
    expected = [exactly(time, at=UTC, offset=offset, ppb=ppb) for time in shown]
    assert np.abs(line.ahead(np.array(shown)) - np.array(expected)).max() <= 1
    assert (line.corrected(np.array(shown)) == np.array(shown) - line.ahead(np.array(shown))).all()


def test_the_reference_is_not_ahead_of_itself():
    assert REFERENCE.ahead(np.array([0, UTC])).tolist() == [0, 0]


@st.composite
def observations(draw: st.DrawFn) -> tuple[np.ndarray, int, int, int]:
    """Times at which a clock was compared (a fifth of them wrongly), its offset at the first, drift and noise."""
    count = draw(st.integers(200, 600))
    offset, ppb = draw(st.integers(-5_000_000, 5_000_000)), draw(st.integers(-100_000, 100_000))
    noise = draw(st.integers(0, 20 * US))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    times = np.sort(rng.integers(0, 60 * S, count))
    ahead = np.array([exactly(time, at=0, offset=offset, ppb=ppb) for time in times.tolist()])
    ahead += rng.integers(-noise, noise + 1, count)
    wrong = rng.random(count) < 0.2
    ahead[wrong] += rng.integers(-S, S, int(wrong.sum()))
    shuffled = rng.permutation(count)
    return np.stack([times, ahead])[:, shuffled], offset, ppb, noise


@given(observations())
def test_offset_and_drift_are_found_under_noise_and_a_fifth_of_wrong_points(observed):
    (times, ahead), offset, ppb, noise = observed
    line = fit_line(times, ahead)
    assert line.drift_is_known
    assert abs(line.drift_ppb - ppb) <= 20 + noise / 10  # 20 µs of noise over 60 s: 2 ppm at most
    for time in (0, 30 * S, 60 * S):
        found = int(line.ahead(np.array([time]))[0])
        assert abs(found - exactly(time, at=0, offset=offset, ppb=ppb)) <= noise + 2 * US


def test_wall_clock_times_lose_no_ns():
    times = UTC + np.arange(100) * S
    line = fit_line(times, np.full(100, 123_456_789))
    assert (line.offset_ns, line.drift_ppb, line.scatter_ns) == (123_456_789, 0, 0)


@pytest.mark.parametrize(("count", "is_known"), [(7, False), (8, True)])
def test_drift_needs_eight_points(count, is_known):
    times = np.arange(count) * S
    line = fit_line(times, times // 100_000)
    assert line.drift_is_known is is_known
    assert line.drift_ppb == (10_000 if is_known else 0)


def test_a_short_noisy_capture_tells_no_drift():
    rng = np.random.default_rng(3)
    times = np.arange(100) * 1_000_000
    line = fit_line(times, rng.integers(-20 * US, 20 * US, 100))
    assert not line.drift_is_known
    assert abs(line.offset_ns) <= 5 * US


def test_points_at_one_time_tell_no_drift():
    assert fit_line(np.zeros(10, np.int64), np.arange(10)).drift_ppb == 0


def test_clocks_compared_by_way_of_another_add_up():
    middle = ClockLine(at_ns=0, offset_ns=1_000, drift_ppb=20_000, scatter_ns=5)
    far = ClockLine(at_ns=2 * S, offset_ns=-300, drift_ppb=-5_000, scatter_ns=7)
    both = far.after(middle)
    time = np.array([2 * S, 5 * S])
    assert np.abs(both.corrected(time) - middle.corrected(far.corrected(time))).max() <= 1
    assert both.scatter_ns == 12


def test_usual_distance_is_one_of_them():
    assert usual_distance(np.arange(1, 101)) == 96
    assert usual_distance(np.array([7])) == 7
