"""What holding an absolute and a relative limit have in common: what could not be measured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.compare.metrics import Metric, why_unknown
from gapfinder.compare.verdict import Judgement, Result
from gapfinder.model import NO_COMMUNICATION

if TYPE_CHECKING:
    from gapfinder.compare.samples import Rows
    from gapfinder.compare.snapshot import Snapshot
    from gapfinder.compare.thresholds import Limit

NONE_IN_STEPS = (
    "there is no communication in the complete steps that all lanes have; what was captured lies outside of them, as "
    "in the first step, which warms up"
)


def blank(limit: Limit, sentence: str) -> Judgement:
    """Return a judgement of which nothing is known yet but its limit."""
    return Judgement(
        limit=limit.text,
        metric=limit.metric.name,
        unit=limit.metric.unit,
        scope=limit.scope,
        lane=None,
        result=Result.UNKNOWN,
        old=None,
        new=None,
        allowed=None,
        noise_low=None,
        noise_high=None,
        spread=None,
        old_runs=0,
        old_steps=0,
        new_steps=0,
        finding=None,
        cause=None,
        explanation="",
        sentence=sentence,
    )


def not_measured(limit: Limit, reason: str) -> Judgement:
    """Return the judgement of a limit whose value is not known."""
    return blank(limit, f"{limit.metric.words} is not measured, so {limit.text} cannot be judged: {reason}")


def why_unmeasurable(metric: Metric, snapshot: Snapshot, *, rows: Rows) -> str | None:
    """Return why the metric is not known of all lanes; None where it is.

    Args:
        metric: what is asked for.
        snapshot: of which.
        rows: its steps that all lanes have, as `common_steps` gives them; without any, the lanes' windows count.
    """
    for lane in snapshot.lanes:
        if reason := why_unknown(metric, lane):
            return f"{reason} ({lane.label})"
    # Without communication none is exposed: that is the best of all numbers, and says nothing.
    if metric.needs_overlap and not any(lane.budget.communication_ns for lane in snapshot.lanes):
        return NO_COMMUNICATION
    steps = [budget for row in rows for budget in row]
    if metric.needs_overlap and steps and not any(budget.communication_ns for budget in steps):
        return NONE_IN_STEPS
    return None


def why_no_steps(snapshot: Snapshot) -> str:
    """Return why no step is complete on all lanes."""
    for lane in snapshot.lanes:
        if not lane.steps:
            return f"{lane.label} has no steps: {lane.steps_reason}"
    return "no step is complete on all lanes"


def why_nothing_to_divide(metric: Metric) -> str:
    """Return why a ratio has no value although nothing hides it."""
    return "no communication is in the steps that are compared" if metric.needs_overlap else "no time passed"
