"""How fast operations move their bytes, against what the link and the same operation elsewhere say is possible."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gapfinder.explanations import CollectiveSummary

SLOW_SHARE = 0.5


class Speeds:
    """What is possible for each operation of a job; looks at every operation once."""

    def __init__(self, collectives: Iterable[CollectiveSummary]) -> None:
        """Keep the two best bus bandwidths of each operation and number of lanes: one's own, and that elsewhere."""
        self._best: dict[tuple[str, int], list[float]] = {}
        for one in collectives:
            if one.bus_bandwidth:
                best = self._best.get(_alike(one), [])
                self._best[_alike(one)] = sorted([*best, one.bus_bandwidth])[-2:]

    def elsewhere(self, one: CollectiveSummary) -> float | None:
        """Return the best bus bandwidth of the same operation between as many lanes on another communicator."""
        others = list(self._best.get(_alike(one), []))
        if one.bus_bandwidth in others:
            others.remove(one.bus_bandwidth)
        return others[-1] if others else None

    def share_of_possible(self, one: CollectiveSummary) -> float:
        """Return its speed as a share of the ideal, of the same operation elsewhere, or of its own best: of the least.

        Elsewhere is another communicator of as many lanes. `one` is an operation of this job.
        """
        best = self.elsewhere(one)
        elsewhere = one.bus_bandwidth / best if one.bus_bandwidth and best else 1.0
        return min(share_of_ideal(one), elsewhere, share_of_own_best(one))

    def is_slow(self, one: CollectiveSummary) -> bool:
        """Say whether it moves its bytes at less than half the speed that is possible."""
        return self.share_of_possible(one) < SLOW_SHARE


def hint(one: CollectiveSummary) -> str:
    """Return an operation in lower-case letters alone ("AllReduce" and "all_reduce" are one)."""
    return _letters(one.operation)


def share_of_ideal(one: CollectiveSummary) -> float:
    """Return ideal time / transfer time; 1 where either is unknown: a lane alone may have waited."""
    return 1.0 if one.ideal_share is None or one.transfer_ns is None else min(1.0, one.ideal_share)


def share_of_own_best(one: CollectiveSummary) -> float:
    """Return its usual bandwidth to that of its fastest tenth; 1 where there are too few."""
    return 1.0 if one.own_share is None else one.own_share


@cache
def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text.lower()))


def _alike(one: CollectiveSummary) -> tuple[str, int]:
    return hint(one), len(one.lanes)
