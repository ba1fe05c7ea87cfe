"""The limits of a check, and their grammar; docs/check.md describes it.

METRIC[@SCOPE] < VALUE        an absolute limit that is breached when it is true; also >, <= and >=
METRIC[@SCOPE] : CHANGE[, FLOOR]    how much worse than the baseline is allowed; beyond FLOOR as well
"""

from __future__ import annotations

import operator
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.compare.metrics import Metric, Scope, Unit, find_metric
from gapfinder.errors import InputError
from gapfinder.units import parse_duration, parse_ratio

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

DEFAULT_FLOOR = 0.01
"""A change by less than this share of the step (of a ratio: by less than this) is none, unless the limit says so."""

_ABSOLUTE = re.compile(r"(?P<metric>\w+)(?:@(?P<scope>\w+))?\s*(?P<sign><=|>=|<|>)\s*(?P<value>.+)")
_RELATIVE = re.compile(
    r"(?P<metric>\w+)(?:@(?P<scope>\w+))?\s*:\s*(?P<sign>[+-])\s*(?P<change>[^,]+)(?:,\s*[+-]?\s*(?P<floor>[^,]+))?"
)
_OPERATORS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    ">": operator.gt,
    "<=": operator.le,
    ">=": operator.ge,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Absolute:
    """A value that may not be passed, whatever the baseline.

    Attributes:
        text: as the user wrote it.
        sign: `<`, `>`, `<=` or `>=`; breached when "measured sign value" is true.
        value: ratio or ns.
    """

    text: str
    metric: Metric
    scope: Scope
    sign: str
    value: float

    def is_breached_by(self, measured: float) -> bool:
        """Return whether a measured value is on the wrong side."""
        return _OPERATORS[self.sign](measured, self.value)


@dataclass(frozen=True, kw_only=True, slots=True)
class Relative:
    """How much worse than the baseline is allowed.

    Attributes:
        text: as the user wrote it.
        share: allowed change as (new - old) / old; None where `amount` says it.
        amount: allowed change as new - old, a ratio (0.05 for 5 points) or ns; None where `share` says it.
        floor: smallest change that counts beside it, a ratio or ns; None for the default.
    """

    text: str
    metric: Metric
    scope: Scope
    share: float | None = None
    amount: float | None = None
    floor: float | None = None

    def allowed(self, old: float, *, step_ns: float) -> float:
        """Return by how much the value may get worse than `old`, a ratio or ns; steps took `step_ns`."""
        if self.share is None:
            return self.amount or 0.0
        return max(self.share * abs(old), self._floor(step_ns))

    def _floor(self, step_ns: float) -> float:
        if self.floor is not None:
            return self.floor
        if not self.metric.is_part_of_step:
            return 0.0
        return DEFAULT_FLOOR * (step_ns if self.metric.unit is Unit.NS else 1)


Limit = Absolute | Relative


def parse_limits(texts: Sequence[str]) -> tuple[Limit, ...]:
    """Return the limits that `texts` write."""
    return tuple(map(parse_limit, texts))


def parse_limit(text: str) -> Limit:
    """Return the limit that `text` writes.

    Raises:
        InputError: it is none, its metric is not known, or it would forbid getting better.
    """
    try:
        if match := _RELATIVE.fullmatch(text.strip()):
            return _relative(match, text=text.strip())
        if match := _ABSOLUTE.fullmatch(text.strip()):
            return _absolute(match, text=text.strip())
    except InputError as error:
        raise InputError(f"limit {text!r}: {error}") from error
    raise InputError(f"not a limit: {text!r}; write overlap_ratio<0.7, idle_share>10% or exposed_ms_per_step:+10%")


def _absolute(match: re.Match[str], *, text: str) -> Absolute:
    metric, scope = find_metric(match["metric"]), _scope(match["scope"])
    if match["sign"].startswith("<") is not metric.higher_is_better:
        better, other = _direction(metric, "<", ">")
        raise InputError(f"it fails when it is true, and {better} is better; write {metric.name}{other}...")
    return Absolute(text=text, metric=metric, scope=scope, sign=match["sign"], value=_value(metric, match["value"]))


def _relative(match: re.Match[str], *, text: str) -> Relative:
    metric, scope, change = find_metric(match["metric"]), _scope(match["scope"]), match["change"].strip()
    if (match["sign"] == "-") is not metric.higher_is_better:
        better, other = _direction(metric, "-", "+")
        raise InputError(f"{better} is better, so only the other direction can be limited; write {other}{change}")
    if not change.endswith("%"):
        if match["floor"] is not None:
            raise InputError("a smallest change belongs to a change in %, such as +10%,1ms")
        return Relative(text=text, metric=metric, scope=scope, amount=_amount(metric, change))
    floor = None if match["floor"] is None else _amount(metric, match["floor"].strip())
    return Relative(text=text, metric=metric, scope=scope, share=_percent(change), floor=floor)


def _direction(metric: Metric, higher: str, lower: str) -> tuple[str, str]:
    """Return which direction is better, and the sign of the limit that this allows."""
    return ("higher", higher) if metric.higher_is_better else ("lower", lower)


def _scope(name: str | None) -> Scope:
    if name is None:
        return Scope.TOTAL
    if name not in list(Scope):
        raise InputError(f"no scope {name!r}; there are {', '.join(Scope)}")
    return Scope(name)


def _value(metric: Metric, text: str) -> float:
    return parse_ratio(text) if metric.unit is Unit.RATIO else float(parse_duration(text))


def _amount(metric: Metric, text: str) -> float:
    """Return an amount of change: points of a ratio, a duration of a time."""
    if metric.unit is Unit.NS:
        return float(parse_duration(text))
    if not text.endswith("pp"):
        raise InputError(
            f"not a change of a ratio: {text!r}; write points, such as 5pp, or a relative change, such as 5%"
        )
    return parse_ratio(f"{text.removesuffix('pp')}%")


def _percent(text: str) -> float:
    number = text.removesuffix("%").strip()
    if not re.fullmatch(r"[0-9]{1,6}(?:\.[0-9]{1,6})?", number):
        raise InputError(f"not a percentage: {text!r}; write a number and %, such as 10%")
    return float(number) / 100


DEFAULT_LIMITS = parse_limits(
    (
        "overlap_ratio:-5pp",
        "overlap_ratio@worst:-5pp",
        "exposed_ms_per_step:+10%",
        "exposed_ms_per_step@worst:+10%",
        "idle_ms_per_step:+10%",
        "idle_ms_per_step@worst:+10%",
    )
)
"""What is checked against a baseline where no limit is given."""


def needs_baseline(limits: Sequence[Limit]) -> bool:
    """Return whether any limit, or the default ones where there are none, is about a change."""
    return any(isinstance(limit, Relative) for limit in limits or DEFAULT_LIMITS)
