"""Holds one snapshot against a limit that needs no baseline."""

from __future__ import annotations

from dataclasses import replace
from math import isnan
from typing import TYPE_CHECKING

from gapfinder.compare.blame import Blame, Explanation
from gapfinder.compare.judging import blank, not_measured, why_no_steps, why_nothing_to_divide, why_unmeasurable
from gapfinder.compare.metrics import Unit
from gapfinder.compare.noise import Estimate, estimates
from gapfinder.compare.samples import common_steps, sampled
from gapfinder.compare.sentences import absolute_sentence, place_words
from gapfinder.compare.verdict import Judgement, Result

if TYPE_CHECKING:
    from gapfinder.compare.snapshot import Snapshot
    from gapfinder.compare.thresholds import Absolute


def hold_absolute(limit: Absolute, candidate: Snapshot) -> list[Judgement]:
    """Return the limit's judgements over the steps; a ratio is of the whole capture where there are none."""
    rows = common_steps(candidate.lanes)
    steps = len(rows[0])
    reason = why_unmeasurable(limit.metric, candidate, rows=rows)
    if not steps and limit.metric.unit is Unit.NS:
        reason = reason or why_no_steps(candidate)
    if reason:
        return [not_measured(limit, reason)]
    samples = sampled(limit.metric, rows if steps else [[lane.budget] for lane in candidate.lanes])
    values = estimates(samples, metric=limit.metric, scope=limit.scope)
    known = [_judgement(limit, one, candidate=candidate, steps=steps) for one in values if not isnan(one.value)]
    return known or [not_measured(limit, why_nothing_to_divide(limit.metric))]


def _judgement(limit: Absolute, estimate: Estimate, *, candidate: Snapshot, steps: int) -> Judgement:
    lane = None if estimate.lane is None else candidate.lanes[estimate.lane].label
    is_breached = limit.is_breached_by(estimate.value)
    explained = Blame(candidate, baseline=None).explain(limit.metric) if is_breached else Explanation()
    sentence = absolute_sentence(
        limit,
        value=estimate.value,
        place=place_words(limit.scope, lane, lanes=len(candidate.lanes)),
        steps=steps,
        is_breached=is_breached,
    )
    return replace(
        blank(limit, sentence + explained.words),
        lane=lane,
        result=Result.BREACHED if is_breached else Result.KEPT,
        new=estimate.value,
        allowed=limit.value,
        new_steps=steps,
        finding=explained.finding,
        cause=explained.cause,
        explanation=explained.words,
    )
