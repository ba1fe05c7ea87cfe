"""Holds a snapshot against a baseline or several runs: a change counts beyond what is allowed and beyond chance."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import isnan
from statistics import median
from typing import TYPE_CHECKING

from gapfinder.compare.blame import Blame, Explanation
from gapfinder.compare.change import Change, spread_of
from gapfinder.compare.judging import blank, not_measured, why_no_steps, why_nothing_to_divide, why_unmeasurable
from gapfinder.compare.lanes import lanes_of_both
from gapfinder.compare.metrics import Metric, Scope
from gapfinder.compare.noise import Estimate, estimates, intervals
from gapfinder.compare.samples import common_steps, sampled
from gapfinder.compare.sentences import place_words, relative_sentence
from gapfinder.compare.verdict import Judgement, Result
from gapfinder.units import format_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.compare.samples import Rows
    from gapfinder.compare.snapshot import Snapshot
    from gapfinder.compare.thresholds import Relative

FEWEST_STEPS = 5
"""With fewer steps on a side, resampling them says nothing about chance."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pair:
    """A candidate and the comparable runs it is held against, with the steps that all lanes of each have.

    Attributes:
        baselines: one, or several runs as one; those with as many lanes as the last.
        old_rows: of each of them, for each lane in the order of the last one, the budgets of its steps.
        new_rows: the same of the candidate.
        matched: (old, new) indices of lanes that are the same rank, else in the same place.
        step_ns: how long a step of the baselines takes.
        blame: what the candidate lost more time to than the last baseline.
    """

    baselines: tuple[Snapshot, ...]
    candidate: Snapshot
    old_rows: tuple[Rows, ...]
    new_rows: Rows
    matched: tuple[tuple[int, int], ...]
    step_ns: float
    blame: Blame

    @classmethod
    def of(cls, *, baselines: Sequence[Snapshot], candidate: Snapshot) -> Pair:
        """Return the pair."""
        last = baselines[-1]
        alike = tuple(one for one in baselines if len(one.lanes) == len(last.lanes))
        old_rows = tuple(_in_order_of(last, one) for one in alike)
        steps = (step for rows in old_rows for step in zip(*rows, strict=True))
        lengths = [sum(budget.window_ns for budget in step) / len(step) for step in steps]
        return cls(
            baselines=alike,
            candidate=candidate,
            old_rows=old_rows,
            new_rows=common_steps(candidate.lanes),
            matched=lanes_of_both(last.lanes, candidate.lanes),
            step_ns=median(lengths) if lengths else 0.0,
            blame=Blame(candidate, baseline=last),
        )

    def hold(self, limit: Relative) -> list[Judgement]:
        """Return the limit's judgements: one, or one for each lane where it is about every lane."""
        reasons = [_why_unknown(limit.metric, *one) for one in zip(self.baselines, self.old_rows, strict=True)]
        runs = [rows for rows, reason in zip(self.old_rows, reasons, strict=True) if reason is None]
        if not runs:
            return [not_measured(limit, f"in the baseline, {reasons[-1]}")]
        if reason := _why_unknown(limit.metric, self.candidate, self.new_rows):
            return [not_measured(limit, f"now, {reason}")]
        found = [
            self._judgement(limit, estimate, change)
            for estimate, change in self._changes(limit, runs)
            if not (limit.scope is Scope.EVERY and isnan(change.old) and isnan(change.new))
        ]
        return found or [not_measured(limit, why_nothing_to_divide(limit.metric))]

    def _changes(self, limit: Relative, runs: Sequence[Rows]) -> list[tuple[Estimate, Change]]:
        """Return what the limit is about: each value of the candidate, and how it moved."""
        metric, scope = limit.metric, limit.scope
        new_rows = self.new_rows
        if scope is Scope.EVERY:
            runs = [[rows[at] for at, _ in self.matched] for rows in runs]
            new_rows = [new_rows[at] for _, at in self.matched]
        old, new = sampled(metric, *runs), sampled(metric, new_rows)
        by_run = [estimates(sampled(metric, rows), metric=metric, scope=scope) for rows in runs]
        values = zip(
            estimates(old, metric=metric, scope=scope),
            estimates(new, metric=metric, scope=scope),
            intervals(old, new, metric=metric, scope=scope),
            *by_run,
            strict=True,
        )
        return [
            (
                after,
                Change(
                    metric=metric,
                    old=before.value,
                    new=after.value,
                    allowed=limit.allowed(before.value, step_ns=self.step_ns),
                    interval=interval,
                    spread=spread_of([one.value for one in of_runs], old=before.value, metric=metric),
                    runs=len(runs),
                    steps=(old.steps, new.steps),
                ),
            )
            for before, after, interval, *of_runs in values
        ]

    def _judgement(self, limit: Relative, estimate: Estimate, change: Change) -> Judgement:
        for name, value in (("in the baseline", change.old), ("now", change.new)):
            if isnan(value):
                return not_measured(limit, f"{name}, {why_nothing_to_divide(limit.metric)}")
        lane = None if estimate.lane is None else self._label(estimate.lane, scope=limit.scope)
        is_breached = change.result is Result.BREACHED
        explained = self.blame.explain(limit.metric) if is_breached else Explanation()
        place = place_words(limit.scope, lane, lanes=len(self.candidate.lanes))
        return replace(
            blank(limit, relative_sentence(limit, change, place=place) + explained.words),
            lane=lane,
            result=change.result,
            old=change.old,
            new=change.new,
            allowed=change.allowed,
            noise_low=change.interval.low,
            noise_high=change.interval.high,
            spread=change.spread,
            old_runs=change.runs,
            old_steps=change.steps[0],
            new_steps=change.steps[1],
            finding=explained.finding,
            cause=explained.cause,
            explanation=explained.words,
        )

    def _label(self, row: int, *, scope: Scope) -> str:
        """Return what the lane is called that a row of the candidate is of."""
        return self.candidate.lanes[self.matched[row][1] if scope is Scope.EVERY else row].label


def _why_unknown(metric: Metric, snapshot: Snapshot, rows: Rows) -> str | None:
    """Return why the metric has no value with a noise; None where it has."""
    if reason := why_unmeasurable(metric, snapshot, rows=rows):
        return reason
    steps = len(rows[0])
    if not steps:
        return why_no_steps(snapshot)
    if steps < FEWEST_STEPS:
        counted = format_count(steps, "step")
        return f"all lanes have only {counted} complete; capture at least {FEWEST_STEPS}, better 20"
    return None


def _in_order_of(other: Snapshot, snapshot: Snapshot) -> Rows:
    """Return the rows of a snapshot, its lanes in the order of the lanes of another one with as many."""
    rows = common_steps(snapshot.lanes)
    own = dict(lanes_of_both(other.lanes, snapshot.lanes))
    return [rows[own[at]] for at in range(len(rows))] if len(own) == len(rows) else rows
