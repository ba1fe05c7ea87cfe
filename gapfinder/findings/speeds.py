"""How fast operations move their bytes, against what the link, the same operation elsewhere and its own best say."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gapfinder.explanations import CollectiveSummary
    from gapfinder.model import Analysis

SLOW_SHARE = 0.5
PROMISED_SHARE = 0.25
"""What counts as far below a link that only a datasheet promises: PCIe switches and the topology take their part."""
LATENCY_NS = 50_000
"""Operations with a shorter ideal time cost latency, whatever the link carries."""


class Speeds:
    """What is possible for each operation of a job; looks at every operation once."""

    def __init__(self, analysis: Analysis) -> None:
        """Keep the two best bus bandwidths of each operation and number of lanes: one's own, and that elsewhere."""
        is_promised = analysis.link is not None and analysis.link.is_detected
        self._slow_ideal = PROMISED_SHARE if is_promised else SLOW_SHARE
        self._best: dict[tuple[str, int], list[float]] = {}
        for one in analysis.collectives:
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
        return min(share_of_ideal(one), self._share_of_elsewhere(one), share_of_own_best(one))

    def is_slow(self, one: CollectiveSummary) -> bool:
        """Say whether it moves its bytes at less than half the speed that is possible."""
        return self.is_below_ideal(one) or min(self._share_of_elsewhere(one), share_of_own_best(one)) < SLOW_SHARE

    def is_below_ideal(self, one: CollectiveSummary) -> bool:
        """Say whether it is far below the link: under half of one that was given, under a quarter of a promised one."""
        return share_of_ideal(one) < self._slow_ideal

    def _share_of_elsewhere(self, one: CollectiveSummary) -> float:
        best = self.elsewhere(one)
        return one.bus_bandwidth / best if one.bus_bandwidth and best else 1.0


def hint(one: CollectiveSummary) -> str:
    """Return an operation in lower-case letters alone ("AllReduce" and "all_reduce" are one)."""
    return _letters(one.operation)


def share_of_ideal(one: CollectiveSummary) -> float:
    """Return ideal time / transfer time; 1 where it cannot be told, or where latency is what it costs.

    A lane alone may have waited: without a split there is no transfer time.
    """
    if one.ideal_share is None or one.ideal_ns is None or one.transfer_ns is None:
        return 1.0
    is_short = one.ideal_ns < LATENCY_NS * one.instances * len(one.lanes)
    return 1.0 if is_short else min(1.0, one.ideal_share)


def share_of_own_best(one: CollectiveSummary) -> float:
    """Return its usual bandwidth to that of its fastest tenth; 1 where there are too few."""
    return 1.0 if one.own_share is None else one.own_share


@cache
def _letters(text: str) -> str:
    return "".join(filter(str.isalpha, text.lower()))


def _alike(one: CollectiveSummary) -> tuple[str, int]:
    return hint(one), len(one.lanes)
