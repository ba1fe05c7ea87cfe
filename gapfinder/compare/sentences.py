"""Says in one sentence what was found about one limit."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.compare.metrics import Scope
from gapfinder.compare.values import format_amount, format_change, format_move, format_value
from gapfinder.compare.verdict import Result
from gapfinder.units import format_count

if TYPE_CHECKING:
    from gapfinder.compare.change import Change
    from gapfinder.compare.thresholds import Absolute, Relative


def absolute_sentence(limit: Absolute, *, value: float, place: str, steps: int, is_breached: bool) -> str:
    """Return what an absolute limit says of one value."""
    over = f"n = {format_count(steps, 'step')}" if steps else "over the whole capture"
    bound = f"{limit.sign} {format_value(limit.metric, limit.value)}"
    told = f"breaches the limit {bound}" if is_breached else f"does not breach the limit {bound}"
    return f"{limit.metric.words} of {place} is {format_value(limit.metric, value)} ({over}), which {told}"


def relative_sentence(limit: Relative, change: Change, *, place: str) -> str:
    """Return what a relative limit says of one change."""
    metric, old, new = limit.metric, change.old, change.new
    old_text, new_text = format_value(metric, old), format_value(metric, new)
    moved = f"stayed at {new_text}"
    if old_text != new_text:
        verb = "rose" if new > old else "fell"
        moved = f"{verb} from {old_text} to {new_text}, {format_move(metric, old=old, new=new)}"
    head = f"{metric.words} of {place} {moved}, {_noise_words(change)}"
    is_share = limit.share is not None and limit.share * old == change.allowed
    bound = format_change(metric, change.allowed, old=old) if is_share else format_amount(metric, change.allowed)
    if change.result is Result.IMPROVED:
        return f"{head}: better"
    if change.result is not Result.UNKNOWN:
        return f"{head}; {bound} would be allowed"
    if change.worse > change.allowed and change.is_within_spread:
        return f"{head}; {bound} would be allowed, but accepted runs are as far apart: run it again"
    return f"{head}: too noisy to tell from the {bound} that would be allowed; capture more steps"


def _noise_words(change: Change) -> str:
    """Return what chance alone does, and how many steps tell so."""
    noise = format_amount(change.metric, (change.interval.high - change.interval.low) / 2)
    old, new = format_count(change.steps[0]), format_count(change.steps[1], "step")
    if change.spread is None:
        return f"noise ±{noise}, n = {old} and {new}"
    spread = format_amount(change.metric, change.spread)
    return f"noise ±{noise}, between runs ±{spread}, n = {old} of {format_count(change.runs, 'run')} and {new}"


def place_words(scope: Scope, lane: str | None, *, lanes: int) -> str:
    """Return which lanes a value is of."""
    if lane is None:
        return "the only lane" if lanes == 1 else f"all {format_count(lanes, 'lane')}"
    return f"the worst lane, {lane}," if scope is Scope.WORST else lane
