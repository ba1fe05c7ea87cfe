"""Numbers to text and text to numbers."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapfinder.errors import InputError
from gapfinder.units import (
    format_count,
    format_duration,
    format_mean_count,
    format_moment,
    format_share,
    format_shown,
    format_time,
    format_times,
    format_written_moment,
    parse_duration,
    parse_step_range,
    parse_window,
)

NS_PER_UNIT = {"ns": 1, "µs": 10**3, "ms": 10**6, "s": 10**9}


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("0ns", 0),
        ("100us", 100_000),
        ("100µs", 100_000),
        (" 2.5 ms ", 2_500_000),
        ("1.2s", 1_200_000_000),
        ("0.000000001s", 1),
        ("60.111541123s", 60_111_541_123),
        ("9007199254740993ns", 9_007_199_254_740_993),
    ],
)
def test_a_duration_is_read_exactly(text: str, ns: int) -> None:
    assert parse_duration(text) == ns


@pytest.mark.parametrize(
    "text", ["", "5", "ms", "-5ms", "1e3ms", "5 min", "1.5ns", ".5ms", "5ms 2us", "9300000000s", "inf s"]
)
def test_what_is_no_duration_is_refused_with_what_was_seen(text: str) -> None:
    with pytest.raises(InputError, match=re.escape(repr(text))):
        parse_duration(text)


def test_a_window_is_two_points_in_time() -> None:
    assert parse_window("1.2s:1900ms") == (1_200_000_000, 1_900_000_000)


@pytest.mark.parametrize("text", ["1s", "2s:1s", "1s:1s", "1s:2", "1s:2s:3s", ":"])
def test_what_is_no_window_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_window(text)


def test_a_range_of_steps_leaves_its_end_out() -> None:
    assert parse_step_range(" 3:8 ") == (3, 8)


@pytest.mark.parametrize("text", ["3", "8:3", "3:3", "-1:3", "a:b", "3:"])
def test_what_is_no_range_of_steps_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        parse_step_range(text)


@pytest.mark.parametrize(
    ("ns", "text"),
    [
        (0, "0 ns"),
        (999, "999 ns"),
        (1_000, "1.000 µs"),
        (1_234, "1.234 µs"),
        (12_340, "12.34 µs"),
        (123_400, "123.4 µs"),
        (999_949, "999.9 µs"),
        (999_960, "1.000 ms"),
        (9_999_400, "9.999 ms"),
        (9_999_600, "10.00 ms"),
        (59_999_999_999, "60.00 s"),
        (3_600_000_000_000, "3,600.0 s"),
        (-1_500_000, "-1.500 ms"),
    ],
)
def test_a_duration_reads_with_four_digits_and_a_fitting_unit(ns: int, text: str) -> None:
    assert format_duration(ns) == text


@given(st.integers(min_value=-999_949_999_999, max_value=999_949_999_999))
def test_a_written_duration_is_never_more_than_half_a_last_digit_off(ns: int) -> None:
    digits, unit = format_duration(ns).split(" ")
    decimals = len(digits.partition(".")[2])
    half_a_digit = 0.5 * 10**-decimals * NS_PER_UNIT[unit]
    assert abs(float(digits) * NS_PER_UNIT[unit] - ns) <= half_a_digit * 1.001
    assert abs(float(digits)) < 1_000
    if abs(ns) >= 1_000:
        assert sum(character.isdigit() for character in digits) == 4


def test_a_point_in_time_reads_to_the_microsecond() -> None:
    assert format_time(60_111_541_123) == "60.111541 s"


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (0, "0.0 %"),
        (1e-9, "<0.1 %"),
        (0.0004, "<0.1 %"),
        (0.0006, "0.1 %"),
        (0.613, "61.3 %"),
        (0.9994, "99.9 %"),
        (0.999999, ">99.9 %"),
        (1, "100.0 %"),
        (1.5, "150.0 %"),
    ],
)
def test_a_share_reads_as_all_or_nothing_only_when_it_is(ratio: float, text: str) -> None:
    assert format_share(ratio) == text


def test_counts_have_separators_and_a_noun_in_the_right_number() -> None:
    assert format_count(1_234_567) == "1,234,567"
    assert format_count(1, "kernel") == "1 kernel"
    assert format_count(0, "kernel") == "0 kernels"
    assert format_count(2_000, "kernel") == "2,000 kernels"
    assert format_count(1, "copy") == "1 copy"
    assert format_count(2, "copy") == "2 copies"
    assert format_count(2, "delay") == "2 delays"
    assert format_count(2, "launch") == "2 launches"


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (1.0, "1 kernel"),
        (1.001, "1 kernel"),
        (2.5, "2.5 kernels"),
        (13 / 3, "4.33 kernels"),
        (0.0, "0 kernels"),
        (0.83333, "0.833 kernels"),
        (0.000_04, "<0.001 kernels"),
        (99.96, "100 kernels"),
        (333.3333, "333 kernels"),
        (1_904.6, "1,905 kernels"),
    ],
)
def test_a_mean_of_counts_has_three_digits(number: float, text: str) -> None:
    assert format_mean_count(number, "kernel") == text
    assert format_mean_count(number) == text.split(maxsplit=1)[0]


def test_times_have_two_decimals() -> None:
    assert format_times(4 / 3) == "1.33 times"


def test_a_cut_list_says_how_much_of_it_is_there() -> None:
    assert format_shown(5, 1_234, "lane") == "5 of 1,234 lanes shown"


def test_moments_are_told_in_utc_and_what_is_none_is_said() -> None:
    assert format_moment(1_750_000_000.9) == "2025-06-15 15:06 UTC"
    assert format_moment(1_750_000_000.9, is_exact=True) == "2025-06-15 15:06:40 UTC"
    assert [format_moment(nowhere) for nowhere in (2.0**62, float("nan"), float("inf"))] == ["unknown"] * 3


def test_written_moments_are_told_alike_and_other_text_stays() -> None:
    assert format_written_moment("2026-01-02T04:05:06+01:00") == "2026-01-02 03:05 UTC"
    assert format_written_moment("yesterday <b>") == "yesterday <b>"
