"""Triggers with their reasons in words: what was usual, what was seen, and for how long."""

from __future__ import annotations

from math import exp
from statistics import median
from typing import TYPE_CHECKING

from gapfinder.units import format_duration, format_growth
from gapfinder.watch.model import Trigger, TriggerKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.watch.rank_levels import RankLevels


def lag(rank: RankLevels, *, step: int) -> Trigger:
    """Return the trigger for a rank that lags."""
    before, now = rank.others_ns, round(rank.apart_ns or 0.0)
    return Trigger(
        kind=TriggerKind.LAG,
        step=step,
        rank=rank.rank,
        before_ns=before,
        now_ns=now,
        sentence=f"rank {rank.rank} takes {format_duration(now)} of a step outside backward, and the others "
        f"{format_duration(before)} ({format_growth(before, now)}), for {format_duration(rank.lag_level.lasted_ns)}",
    )


def drift(slower: Sequence[RankLevels], *, step: int) -> Trigger:
    """Return the trigger for steps that have become longer on these ranks."""
    before = round(median(rank.usual_ns or 0.0 for rank in slower))
    now = round(median(exp(rank.step_level.now or 0.0) for rank in slower))
    lasted = format_duration(min(rank.step_level.lasted_ns for rank in slower))
    return Trigger(
        kind=TriggerKind.DRIFT,
        step=step,
        before_ns=before,
        now_ns=now,
        sentence=f"steps take {format_duration(now)}, and {format_duration(before)} is usual "
        f"({format_growth(before, now)}), for {lasted}",
    )


def healthy(*, usual_ns: int | None, step: int) -> Trigger:
    """Return the trigger for the capture that later ones are compared with."""
    usual = format_duration(usual_ns or 0)
    return Trigger(
        kind=TriggerKind.HEALTHY,
        step=step,
        before_ns=usual_ns,
        now_ns=usual_ns,
        sentence=f"steps are as usual ({usual}): what later captures are compared with",
    )


def schedule(*, every_ns: int, step: int) -> Trigger:
    """Return the trigger of a schedule."""
    every = format_duration(every_ns)
    return Trigger(kind=TriggerKind.SCHEDULE, step=step, sentence=f"a capture was due, one every {every}")
