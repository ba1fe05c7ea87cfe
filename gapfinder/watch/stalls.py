"""Tells a training that has stopped from one that writes a checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.units import format_duration
from gapfinder.watch.model import Trigger, TriggerKind

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.watch.rank_levels import RankLevels
    from gapfinder.watch.rules import Rules

_FEWEST = 10
_OVER_LONGEST = 2


def stall(
    waiting: Sequence[RankLevels], *, rules: Rules, calm_since_ns: int | None, now_ns: int, step: int
) -> Trigger | None:
    """Return the trigger for steps that no longer end; None while they do, or may still.

    Args:
        waiting: ranks of which no stall has been captured since their last step.
        rules: how long is too long.
        calm_since_ns: when the last disturbance ended.
        now_ns: time counts from the last step or disturbance to now.
        step: the last one that has ended on all ranks.
    """
    silences = {rank.rank: now_ns - max(rank.heard_at_ns, calm_since_ns or 0) for rank in waiting}
    if not silences or max(silences.values()) < rules.stall_least_ns:
        return None
    limits = {rank.rank: limit for rank in waiting if (limit := _limit_ns(rank, rules=rules)) is not None}
    stalled = [rank for rank in waiting if rank.rank in limits and silences[rank.rank] >= limits[rank.rank]]
    if not stalled:
        return None
    behind = _behind(stalled, waiting)
    longest = max(stalled, key=lambda rank: silences[rank.rank])
    silence, p99 = silences[longest.rank], _p99_ns(longest)
    who = "no step" if behind is None else f"no step of rank {behind}"
    return Trigger(
        kind=TriggerKind.STALL,
        step=step,
        rank=behind,
        before_ns=p99,
        now_ns=silence,
        sentence=f"{who} has ended for {format_duration(silence)}; 99 % of them take up to {format_duration(p99)}",
    )


def _behind(stalled: Sequence[RankLevels], waiting: Sequence[RankLevels]) -> int | None:
    """Return the only rank that has stalled, or that ended fewer steps than all others, which wait for it."""
    if len(waiting) == 1:
        return None
    if len(stalled) == 1:
        return stalled[0].rank
    first, second, *_ = sorted(stalled, key=lambda rank: rank.total)
    return first.rank if first.total < second.total else None


def _limit_ns(rank: RankLevels, *, rules: Rules) -> float | None:
    """Return how long a step may take: a checkpoint that took minutes may take twice as long the next time."""
    if len(rank.durations) < _FEWEST:
        return None
    return max(rules.stall_factor * _p99_ns(rank), rules.stall_least_ns, _OVER_LONGEST * rank.longest_ns)


def _p99_ns(rank: RankLevels) -> int:
    in_order = sorted(rank.durations)
    return in_order[(99 * (len(in_order) - 1)) // 100]
