"""Holds a snapshot against a baseline: a change counts where it is larger than allowed and than chance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan
from statistics import median
from typing import TYPE_CHECKING

from gapfinder.compare.blame import explaining
from gapfinder.compare.judging import blank, not_measured, why_no_steps, why_nothing_to_divide, why_unmeasurable
from gapfinder.compare.metrics import Metric, Scope
from gapfinder.compare.noise import Estimate, Interval, estimates, intervals
from gapfinder.compare.samples import common_steps, sampled
from gapfinder.compare.sentences import cause_words, place_words, relative_sentence
from gapfinder.compare.verdict import Judgement, Result
from gapfinder.units import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.budget import Budget
    from gapfinder.compare.snapshot import Snapshot
    from gapfinder.compare.thresholds import Relative

    Rows = Sequence[Sequence[Budget]]

FEWEST_STEPS = 5
"""With fewer steps on a side, resampling them says nothing about chance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """Two comparable snapshots with the steps that all lanes of each have.

    Attributes:
        old_rows, new_rows: for each lane the budgets of its steps.
        matched: (old, new) indices of lanes that are the same rank, else in the same place.
        step_ns: how long a step of the baseline takes.
    """

    baseline: Snapshot
    candidate: Snapshot
    old_rows: Rows
    new_rows: Rows
    matched: tuple[tuple[int, int], ...]
    step_ns: float

    @classmethod
    def of(cls, *, baseline: Snapshot, candidate: Snapshot) -> Pair:
        """Return the pair."""
        old_rows = common_steps(baseline.lanes)
        lengths = [sum(budget.window_ns for budget in step) / len(step) for step in zip(*old_rows, strict=True)]
        return cls(
            baseline=baseline,
            candidate=candidate,
            old_rows=old_rows,
            new_rows=common_steps(candidate.lanes),
            matched=_matched(baseline, candidate),
            step_ns=median(lengths) if lengths else 0.0,
        )

    def hold(self, limit: Relative) -> list[Judgement]:
        """Return the limit's judgements: one, or one for each lane where it is about every lane."""
        if reason := self._why_unknown(limit.metric):
            return [not_measured(limit, reason)]
        old_rows, new_rows, lanes = self._rows(limit.scope)
        old, new = sampled(limit.metric, old_rows), sampled(limit.metric, new_rows)
        before, after, change = (
            estimates(old, metric=limit.metric, scope=limit.scope),
            estimates(new, metric=limit.metric, scope=limit.scope),
            intervals(old, new, metric=limit.metric, scope=limit.scope),
        )
        found = [
            self._judgement(limit, values, lanes=lanes)
            for values in zip(before, after, change, strict=True)
            if not (limit.scope is Scope.EVERY and isnan(values[0].value) and isnan(values[1].value))
        ]
        return found or [not_measured(limit, why_nothing_to_divide(limit.metric))]

    def _why_unknown(self, metric: Metric) -> str | None:
        for name, snapshot, rows in (
            ("in the baseline", self.baseline, self.old_rows),
            ("now", self.candidate, self.new_rows),
        ):
            steps = len(rows[0])
            if reason := why_unmeasurable(metric, snapshot):
                return f"{name}, {reason}"
            if not steps:
                return f"{name}, {why_no_steps(snapshot)}"
            if steps < FEWEST_STEPS:
                counted = format_count(steps, "step")
                return f"{name}, all lanes have only {counted} complete; capture at least {FEWEST_STEPS}, better 20"
        return None

    def _rows(self, scope: Scope) -> tuple[Rows, Rows, list[int]]:
        """Return both sides' rows and what lane of the candidate each row is."""
        if scope is not Scope.EVERY:
            return self.old_rows, self.new_rows, list(range(len(self.new_rows)))
        old = [self.old_rows[at] for at, _ in self.matched]
        return old, [self.new_rows[at] for _, at in self.matched], [at for _, at in self.matched]

    def _judgement(
        self, limit: Relative, values: tuple[Estimate, Estimate, Interval], *, lanes: list[int]
    ) -> Judgement:
        before, after, interval = values
        for name, estimate in (("in the baseline", before), ("now", after)):
            if isnan(estimate.value):
                return not_measured(limit, f"{name}, {why_nothing_to_divide(limit.metric)}")
        lane = None if after.lane is None else self.candidate.lanes[lanes[after.lane]].label
        allowed = limit.allowed(before.value, step_ns=self.step_ns)
        result = judged(limit.metric, change=after.value - before.value, interval=interval, allowed=allowed)
        is_breached = result is Result.BREACHED
        explained = explaining(limit.metric, candidate=self.candidate, baseline=self.baseline) if is_breached else None
        steps = len(self.old_rows[0]), len(self.new_rows[0])
        sentence = relative_sentence(
            limit,
            result=result,
            old=before.value,
            new=after.value,
            allowed=allowed,
            interval=interval,
            place=place_words(limit.scope, lane, lanes=len(self.candidate.lanes)),
            steps=steps,
        )
        return replace(
            blank(limit, sentence + cause_words(explained)),
            lane=lane,
            result=result,
            old=before.value,
            new=after.value,
            allowed=allowed,
            noise_low=interval.low,
            noise_high=interval.high,
            old_steps=steps[0],
            new_steps=steps[1],
            finding=explained[0].code if explained else None,
        )


def judged(metric: Metric, *, change: float, interval: Interval, allowed: float) -> Result:
    """Return what a change new - old means.

    It is a breach when it is worse by more than allowed and chance alone does not explain that anything got worse. It
    is unknown where the interval reaches beyond what is allowed although the change itself does not, and is so wide
    that a breach could hide in it.
    """
    worse, least, most = change, interval.low, interval.high
    if metric.higher_is_better:
        worse, least, most = -change, -interval.high, -interval.low
    if worse > allowed:
        return Result.BREACHED if least > 0 else Result.UNKNOWN
    if most > allowed and most - worse > allowed:
        return Result.UNKNOWN
    return Result.IMPROVED if -worse > allowed and most < 0 else Result.KEPT


def _matched(baseline: Snapshot, candidate: Snapshot) -> tuple[tuple[int, int], ...]:
    """Match lanes by rank where both sides tell each lane's, else by place."""
    old, new = ({lane.rank: at for at, lane in enumerate(one.lanes)} for one in (baseline, candidate))
    is_told = None not in old and None not in new
    if is_told and len(old) == len(baseline.lanes) and len(new) == len(candidate.lanes):
        return tuple((old[rank], at) for rank, at in new.items() if rank in old)
    return tuple((at, at) for at in range(min(len(baseline.lanes), len(candidate.lanes))))
