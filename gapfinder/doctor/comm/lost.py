"""Says why there is no result: which rank never came, died, stands still or failed first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.capture.outcome import format_ranks
from gapfinder.units import format_count

if TYPE_CHECKING:
    from gapfinder.doctor.comm.heard import Heard, HeardRank

SILENT_S = 5.0
"""A rank says every second that it lives; after so many without a word it does not."""

_MEETING = ("starting", "importing torch", "looking for GPUs", "meeting the other ranks")


def why_lost(heard: Heard, *, now: float, waited_s: float | None, exit_code: int | None) -> str:
    """Return in a sentence what became of ranks that left no result.

    Args:
        heard: at least one rank.
        now: when the last of it was heard, on the clock of time.monotonic.
        waited_s: how long nothing moved before the run was given up; None where the launcher ended by itself.
        exit_code: of the launcher, where it did.
    """
    world = heard.world_size or 0
    missing = sorted(set(range(world)) - heard.ranks.keys())
    came = f"{format_count(len(heard.ranks))} of {format_count(world, 'rank')} began"
    ended = (
        f"the launcher ended with exit code {exit_code}" if waited_s is None else f"nothing moved for {waited_s:.0f} s"
    )
    silent = [rank for rank in heard.ranks.values() if rank.last_word is None and _is_silent(rank, now, waited_s)]
    if heard.failures and not (silent and waited_s is None):
        first = heard.ranks[heard.failures[0]]
        return f"{_named(first)} failed first, {_doing(first)}: {first.error}"
    if missing:
        others = ", ".join(_named(rank) for _, rank in sorted(heard.ranks.items())[:3])
        what = "never came, or torchrun on another node has them" if heard.is_spread else "never came"
        return f"{format_ranks(missing)} {what}: {came} ({others}), and {ended}"
    if silent and len(silent) < world:
        told = "; ".join(f"{_named(rank)} {_doing(rank)}" for rank in silent)
        return f"without a last word, {'died' if waited_s is None else 'stopped answering'}: {told}; {ended}"
    late = [rank for rank in heard.ranks.values() if rank.stage in _MEETING[:-1] and rank.last_word is None]
    if late and len(late) < world:
        return f"{'; '.join(f'{_named(rank)} is still {rank.stage}' for rank in late)}, and {ended}"
    return f"all ranks answer, and none gets on: {ended} at {heard.stage!r}"


def _is_silent(rank: HeardRank, now: float, waited_s: float | None) -> bool:
    return waited_s is None or now - rank.heard_at > SILENT_S


def _named(rank: HeardRank) -> str:
    return f"rank {rank.rank} ({rank.host})"


def _doing(rank: HeardRank) -> str:
    return f"at {rank.stage!r}"
