"""The only place that turns numbers into text and text into numbers.

Everything else computes in int64 nanoseconds and plain ratios.
"""

from __future__ import annotations

import re
from datetime import UTC, datetime
from fractions import Fraction
from itertools import groupby
from typing import TYPE_CHECKING

from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

NS_PER_MS, NS_PER_S = 1_000_000, 1_000_000_000
BYTES_PER_GB = 1_000_000_000

_NS_PER_UNIT = {"ns": 1, "us": 1_000, "µs": 1_000, "ms": NS_PER_MS, "s": NS_PER_S}
MANY_TIMES = 3  # from here on a percentage is hard to read
_READS_AS_NOTHING, _READS_AS_ALL = 0.05, 99.95
_LEAST_MEAN, _WHOLE_FROM = 0.001, 100
_DECIMAL = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_PREFIXES = {"": 1, **_DECIMAL, "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}
_BYTES_PER_UNIT = {f"{prefix}B": size for prefix, size in _PREFIXES.items()}
_BYTES_PER_S = {f"{unit}/s": size for unit, size in _BYTES_PER_UNIT.items()} | {
    f"{prefix}b/s": Fraction(size, 8) for prefix, size in _PREFIXES.items()
}
_PER_COUNT = {"": 1, "K": 10**3, "M": 10**6, "B": 10**9, "T": 10**12}
_QUANTITY = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(.*)")
_TOO_MUCH = 2**63


def _quantity(text: str, units: Mapping[str, int | Fraction]) -> Fraction | None:
    """Return the number in `text` times its unit; None where it is no number or the unit is another one."""
    match = _QUANTITY.fullmatch(text.strip())
    return None if match is None or match[2] not in units else Fraction(match[1]) * units[match[2]]


def _whole(quantity: Fraction, *, text: str, noun: str) -> int:
    if quantity.denominator != 1 or quantity >= _TOO_MUCH:
        raise InputError(f"not a whole number of {noun}: {text!r}")
    return int(quantity)


def parse_duration(text: str) -> int:
    """Return `text` ("100us", "1.2 s") in nanoseconds; a unit is required, fractions of a ns are refused."""
    nanoseconds = _quantity(text, _NS_PER_UNIT)
    if nanoseconds is None:
        raise InputError(f"not a duration: {text!r}; write a number and a unit, such as 100us, 2.5ms or 1.2s")
    return _whole(nanoseconds, text=text, noun="nanoseconds below 292 years")


def parse_bytes(text: str) -> int:
    """Return `text` ("14GB", "1.5 GiB") in bytes; GB is 1e9 and GiB 2**30 of them, and the B is required."""
    size = _quantity(text, _BYTES_PER_UNIT)
    if size is None:
        number, prefix = _meant(text, otherwise="14G")
        raise InputError(f"not a size: {text!r}; write {number}{prefix}B (bytes)")
    return _whole(size, text=text, noun="bytes")


def parse_bandwidth(text: str) -> int:
    """Return `text` ("40Gb/s", "5 GB/s") in bytes per second; b is a bit and B a byte, and one of them is required."""
    bandwidth = _quantity(text, _BYTES_PER_S)
    if bandwidth is None:
        number, prefix = _meant(text, otherwise="40G")
        unit = f"{number}{prefix}"
        raise InputError(f"not a bandwidth: {text!r}; write {unit}b/s (bits a second) or {unit}B/s (bytes a second)")
    if not bandwidth:
        raise InputError(f"not a bandwidth: {text!r}; over such a link nothing arrives")
    return _whole(bandwidth, text=text, noun="bytes per second")


def parse_count(text: str) -> int:
    """Return `text` ("7B", "125M", "1000") as a number; K, M, B and T are thousand, million, billion and trillion."""
    count = _quantity(text, _PER_COUNT)
    if count is None:
        raise InputError(f"not a count: {text!r}; write a number and K, M, B (billion) or T, such as 7B")
    return _whole(count, text=text, noun="things counted")


def _meant(text: str, *, otherwise: str) -> tuple[str, str]:
    """Return the number and the prefix that a quantity with a wrong unit starts with; `otherwise` where it has none."""
    match = re.match(r"\s*([0-9]+(?:\.[0-9]+)?)\s*((?:[kmgt]i?)?)", text, re.IGNORECASE)
    if match is None:
        return otherwise[:-1], otherwise[-1]
    known = {prefix.lower(): prefix for prefix in _PREFIXES}
    return match[1], known[match[2].lower()]


def parse_ratio(text: str) -> float:
    """Return `text` ("0.7", "70 %") as a ratio from 0 to 1."""
    ratio = _quantity(text, {"": 1, "%": Fraction(1, 100)})
    if ratio is None or ratio > 1:
        raise InputError(
            f"not a ratio: {text!r}; write a number from 0 to 1, such as 0.7, or a percentage, such as 70%"
        )
    return float(ratio)


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
    return _four_digits(ns, {unit: _NS_PER_UNIT[unit] for unit in ("µs", "ms", "s")})


def format_bytes(size: int) -> str:
    """Return a size with four significant digits and a fitting decimal unit ("14.00 GB"); below 1 kB it is exact."""
    if abs(size) < _DECIMAL["k"]:
        return f"{size} B"
    return _four_digits(size, {f"{prefix}B": factor for prefix, factor in _DECIMAL.items()})


def format_bandwidth(bandwidth: float) -> str:
    """Return bytes per second with four significant digits and a fitting decimal unit ("5.000 GB/s")."""
    return f"{format_bytes(round(bandwidth))}/s"


def _four_digits(number: float, units: Mapping[str, int]) -> str:
    """Return `number` in the first of the growing `units` in which it stays below 1,000, else in the last."""
    for unit, size in units.items():
        value = number / size
        for decimals, limit in ((3, 10), (2, 100), (1, 1_000)):
            if abs(round(value, decimals)) < limit:
                return f"{value:.{decimals}f} {unit}"
    return f"{value:,.1f} {unit}"


def format_time(ns: int) -> str:
    """Return a point in time on the report's clock, to the microsecond ("60.111541 s")."""
    return f"{ns / NS_PER_S:.6f} s"


def format_moment(seconds: float, *, is_exact: bool = False) -> str:
    """Return seconds since 1970 as "2026-01-31 12:05 UTC", where exact with its seconds; "unknown" for no such time."""
    try:
        moment = datetime.fromtimestamp(seconds, UTC)
    except (ValueError, OverflowError, OSError):
        return "unknown"
    return moment.strftime("%Y-%m-%d %H:%M:%S UTC" if is_exact else "%Y-%m-%d %H:%M UTC")


def format_written_moment(text: str) -> str:
    """Return a moment in the form of ISO 8601 as `format_moment` does; any other text as it is."""
    try:
        return format_moment(datetime.fromisoformat(text).timestamp())
    except (ValueError, OverflowError):
        return text


def format_share(ratio: float) -> str:
    """Return a ratio as a percentage; what is not quite all or nothing never reads as all or nothing."""
    percent = 100 * ratio
    if 0 < percent < _READS_AS_NOTHING:
        return "<0.1 %"
    if percent >= _READS_AS_ALL and ratio < 1:
        return ">99.9 %"
    return f"{percent:.1f} %"


def format_change(ns: int) -> str:
    """Return how much longer or shorter something got ("+1.234 ms")."""
    return f"+{format_duration(ns)}" if ns > 0 else format_duration(ns)


def format_growth(before: float, after: float) -> str:
    """Return (after - before) / before as a percentage with its sign ("+19.9 %"); far above, how many times as much."""
    if not before:
        return "new" if after else "0.0 %"
    if after >= MANY_TIMES * before:
        times = after / before
        return f"{times:.1f} times" if times < 100 else f"{times:,.0f} times"  # noqa: PLR2004
    return f"{_signed(100 * (after - before) / before)} %"


def format_points_change(change: float) -> str:
    """Return how a ratio changed, in percentage points with their sign ("+9.1 points")."""
    return f"{_signed(100 * change)} points"


def _signed(number: float) -> str:
    text = f"{number:+.1f}"
    return text[1:] if float(text) == 0 else text


def format_points(difference: float) -> str:
    """Return the distance between two ratios in percentage points ("12.3 points")."""
    return f"{100 * abs(difference):.1f} points"


def format_times(ratio: float) -> str:
    """Return a ratio as how many times as much ("1.30 times")."""
    return f"{ratio:.2f} times"


def format_count(number: int, noun: str = "") -> str:
    """Return a count with thousands separated and, when given, its noun in the right number ("1,234 kernels")."""
    digits = f"{number:,}"
    return f"{digits} {_in_number(noun, is_one=number == 1)}" if noun else digits


def format_mean_count(number: float, noun: str = "") -> str:
    """Return a mean of counts with three significant digits, from 100 on whole ("4.33 collectives", "1 collective")."""
    if 0 < number < _LEAST_MEAN:
        digits = f"<{_LEAST_MEAN}"
    else:
        digits = f"{number:,.0f}" if number >= _WHOLE_FROM else f"{number:.3g}"
    return f"{digits} {_in_number(noun, is_one=digits == '1')}" if noun else digits


def _in_number(noun: str, *, is_one: bool) -> str:
    if is_one:
        return noun
    return f"{noun}es" if noun.endswith(("s", "ch")) else re.sub(r"(?<=[^aeiou])y$", "ie", noun) + "s"


def format_numbers(runs: Iterable[tuple[int, int]]) -> str:
    """Return runs of numbers, each as (first, last), as a list ("0, 3 to 7")."""
    return ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in runs)


def runs_of(numbers: Iterable[int]) -> Iterator[tuple[int, int]]:
    """Yield (first, last) of each run of consecutive numbers, which are given in order."""
    for _, run in groupby(enumerate(numbers), key=lambda placed: placed[1] - placed[0]):
        members = [number for _, number in run]
        yield members[0], members[-1]


def format_shown(shown: int, total: int, noun: str) -> str:
    """Return how much of a list is there ("5 of 1,234 lanes shown")."""
    return f"{format_count(shown)} of {format_count(total, noun)} shown"
