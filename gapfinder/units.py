"""The only place that turns numbers into text and text into numbers.

Everything else computes in int64 nanoseconds and plain ratios.
"""

from __future__ import annotations

import re
from decimal import Decimal

from gapfinder.errors import InputError

_NS_PER_UNIT = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": 1_000_000, "s": 1_000_000_000}
_READS_AS_NOTHING, _READS_AS_ALL = 0.05, 99.95
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(ns|us|µs|ms|s)")


def parse_duration(text: str) -> int:
    """Return `text` ("100us", "1.2 s") in nanoseconds; a unit is required, fractions of a ns are refused."""
    match = _DURATION.fullmatch(text.strip())
    if match is None:
        raise InputError(f"not a duration: {text!r}; write a number and a unit, such as 100us, 2.5ms or 1.2s")
    nanoseconds = Decimal(match[1]) * _NS_PER_UNIT[match[2]]
    if nanoseconds != nanoseconds.to_integral_value() or nanoseconds >= 2**63:
        raise InputError(f"not a whole number of nanoseconds below 292 years: {text!r}")
    return int(nanoseconds)


def parse_window(text: str) -> tuple[int, int]:
    """Return "1.2s:1.9s" as (start, end) in ns on the report's own clock; the end must come later."""
    start_text, separator, end_text = text.partition(":")
    if not separator:
        raise InputError(f"not a window: {text!r}; write START:END, such as 1.2s:1.9s")
    start, end = parse_duration(start_text), parse_duration(end_text)
    if end <= start:
        raise InputError(f"empty window: {text!r}; the end must come after the start")
    return start, end


def parse_step_range(text: str) -> tuple[int, int]:
    """Return "3:8" as (3, 8): the steps 3, 4, 5, 6 and 7."""
    match = re.fullmatch(r"([0-9]{1,18}):([0-9]{1,18})", text.strip())
    if match is None or int(match[2]) <= int(match[1]):
        raise InputError(f"not a range of steps: {text!r}; write FIRST:END, such as 3:8 for the steps 3 to 7")
    return int(match[1]), int(match[2])


def format_duration(ns: int) -> str:
    """Return a duration with four significant digits and a fitting unit ("1.234 ms"); below 1 µs it is exact."""
    if abs(ns) < _NS_PER_UNIT["µs"]:
        return f"{ns} ns"
    for unit in ("µs", "ms", "s"):
        value = ns / _NS_PER_UNIT[unit]
        for decimals, limit in ((3, 10), (2, 100), (1, 1_000)):
            if abs(round(value, decimals)) < limit:
                return f"{value:.{decimals}f} {unit}"
    return f"{ns / _NS_PER_UNIT['s']:,.1f} s"


def format_time(ns: int) -> str:
    """Return a point in time on the report's clock, to the microsecond ("60.111541 s")."""
    return f"{ns / 1_000_000_000:.6f} s"


def format_share(ratio: float) -> str:
    """Return a ratio as a percentage; what is not quite all or nothing never reads as all or nothing."""
    percent = 100 * ratio
    if 0 < percent < _READS_AS_NOTHING:
        return "<0.1 %"
    if percent >= _READS_AS_ALL and ratio < 1:
        return ">99.9 %"
    return f"{percent:.1f} %"


def format_count(number: int, noun: str = "") -> str:
    """Return a count with thousands separated and, when given, its noun in the right number ("1,234 kernels")."""
    digits = f"{number:,}"
    if not noun:
        return digits
    return f"{digits} {noun}" if number == 1 else f"{digits} {noun}s"


def format_shown(shown: int, total: int, noun: str) -> str:
    """Return how much of a list is there ("5 of 1,234 lanes shown")."""
    return f"{format_count(shown)} of {format_count(total, noun)} shown"
