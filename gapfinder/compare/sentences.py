"""Says in one sentence what was found about one limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.compare.metrics import Metric, Scope, Unit
from gapfinder.compare.verdict import Result
from gapfinder.units import format_count, format_duration, format_points, format_share

if TYPE_CHECKING:
    from gapfinder.compare.noise import Interval
    from gapfinder.compare.snapshot import FindingTotal
    from gapfinder.compare.thresholds import Absolute, Relative


def format_value(metric: Metric, value: float) -> str:
    """Return a metric's value with its unit."""
    return format_share(value) if metric.unit is Unit.RATIO else format_duration(round(value))


def format_change(metric: Metric, change: float, *, old: float) -> str:
    """Return by how much something changed: points of a ratio, else the share of `old` and the time."""
    amount = format_amount(metric, change)
    if metric.unit is Unit.RATIO or old <= 0:
        return amount
    return f"{format_share(abs(change) / old)} ({amount})"


def format_amount(metric: Metric, change: float) -> str:
    """Return a change without its sign: points of a ratio, or a time."""
    return format_points(change) if metric.unit is Unit.RATIO else format_duration(round(abs(change)))


def absolute_sentence(limit: Absolute, *, value: float, place: str, steps: int, is_breached: bool) -> str:
    """Return what an absolute limit says of one value."""
    over = f"n = {format_count(steps, 'step')}" if steps else "over the whole capture"
    bound = f"{limit.sign} {format_value(limit.metric, limit.value)}"
    told = f"breaches the limit {bound}" if is_breached else f"does not breach the limit {bound}"
    return f"{limit.metric.words} of {place} is {format_value(limit.metric, value)} ({over}), which {told}"


def relative_sentence(  # noqa: PLR0913 (all by name, the parts of one sentence)
    limit: Relative,
    *,
    result: Result,
    old: float,
    new: float,
    allowed: float,
    interval: Interval,
    place: str,
    steps: tuple[int, int],
) -> str:
    """Return what a relative limit says of one pair of values."""
    metric = limit.metric
    old_text, new_text = format_value(metric, old), format_value(metric, new)
    moved = f"{'rose' if new > old else 'fell'} from {old_text} to {new_text}"
    if old_text == new_text:
        moved = f"stayed at {new_text}"
    change = f", by {format_change(metric, new - old, old=old)}" if old_text != new_text else ""
    noise = format_amount(metric, (interval.high - interval.low) / 2)
    counted = f"n = {format_count(steps[0])} and {format_count(steps[1], 'step')}"
    head = f"{metric.words} of {place} {moved}{change}, noise ±{noise}, {counted}"
    is_share = limit.share is not None and limit.share * old == allowed
    bound = format_change(metric, allowed, old=old) if is_share else format_amount(metric, allowed)
    return {
        Result.BREACHED: f"{head}; {bound} would be allowed",
        Result.IMPROVED: f"{head}: better",
        Result.KEPT: f"{head}; {bound} would be allowed",
        Result.UNKNOWN: f"{head}: too noisy to tell from the {bound} that would be allowed; capture more steps",
    }[result]


def place_words(scope: Scope, lane: str | None, *, lanes: int) -> str:
    """Return which lanes a value is of."""
    if lane is None:
        return "the only lane" if lanes == 1 else f"all {format_count(lanes, 'lane')}"
    return f"the worst lane, {lane}," if scope is Scope.WORST else lane


def cause_words(explained: tuple[FindingTotal, bool] | None) -> str:
    """Return the finding that explains a breach as the end of its sentence."""
    if explained is None:
        return ""
    finding, is_new = explained
    new = ", new since the baseline" if is_new else ""
    return f": {finding.code} ({finding.title}; {format_share(finding.share)} of all time{new})"
