"""How fast operations move their bytes, against what the link, the same operation elsewhere and its own best say."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gapfinder.explanations import CollectiveSummary
    from gapfinder.model import Analysis

SLOW_SHARE = 0.5
PROMISED_SHARE = 0.25
"""What counts as far below a link that only a datasheet promises: PCIe switches and the topology take their part."""
LATENCY_NS = 50_000
"""Operations with a shorter ideal time cost latency, whatever the link carries."""


class Yardstick(Enum):
    """What a speed is held against."""

    IDEAL = auto()
    ELSEWHERE = auto()
    OWN_BEST = auto()


@dataclass(frozen=True, kw_only=True, slots=True)
class Slowness:
    """How slow an operation is: `share` of the speed that is possible by the yardstick of which it has least."""

    share: float
    against: Yardstick


class Speeds:
    """What is possible for each operation of a job; looks at every operation once."""

    def __init__(self, analysis: Analysis) -> None:
        """Keep the two best bus bandwidths of each operation and number of lanes: one's own, and that elsewhere."""
        is_promised = analysis.link is not None and analysis.link.is_detected
        self._enough = dict.fromkeys(Yardstick, SLOW_SHARE)
        if is_promised:
            self._enough[Yardstick.IDEAL] = PROMISED_SHARE
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

    def slowness(self, one: CollectiveSummary) -> Slowness | None:
        """Return how slow it is; None where it moves its bytes at half the speed that is possible, or more.

        Of an ideal that a datasheet promises a quarter is enough. Elsewhere is another communicator of as many lanes.
        """
        shares = {
            Yardstick.IDEAL: _share_of_ideal(one),
            Yardstick.ELSEWHERE: self._share_of_elsewhere(one),
            Yardstick.OWN_BEST: 1.0 if one.own_share is None else one.own_share,
        }
        slow = {against: share for against, share in shares.items() if share < self._enough[against]}
        if not slow:
            return None
        against = min(slow, key=slow.__getitem__)
        return Slowness(share=slow[against], against=against)

    def _share_of_elsewhere(self, one: CollectiveSummary) -> float:
        best = self.elsewhere(one)
        return one.bus_bandwidth / best if one.bus_bandwidth and best else 1.0


def _share_of_ideal(one: CollectiveSummary) -> float:
    """Return ideal time / transfer time; 1 where it cannot be told, or where latency is what it costs.

    A lane alone may have waited: without a split there is no transfer time.
    """
    if one.ideal_share is None or one.ideal_ns is None or one.transfer_ns is None:
        return 1.0
    is_short = one.ideal_ns < LATENCY_NS * one.operations
    return 1.0 if is_short else min(1.0, one.ideal_share)


def _alike(one: CollectiveSummary) -> tuple[str, int]:
    return one.operation, len(one.lanes)
