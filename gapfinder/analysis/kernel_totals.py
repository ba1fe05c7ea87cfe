"""Which kernels took the time: counts and summed durations by name, over lanes and reports."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.budget import ALWAYS
from gapfinder.explanations import KernelTotal

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from gapfinder.analysis.classify import Decision
    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.lanes import LaneOperations, Operations
    from gapfinder.budget import Window

KERNELS_KEPT = 50


@dataclass(frozen=True, slots=True, eq=False)
class NameTotals:
    """How often kernels of each name ran, and for how long in all; both of shape (kernel names,), the latter in ns."""

    counts: Int64s
    times: Int64s

    def __add__(self, other: NameTotals) -> NameTotals:
        return NameTotals(self.counts + other.counts, self.times + other.times)

    @classmethod
    def nothing(cls, names: int) -> NameTotals:
        """Return the totals of no kernel."""
        return cls(np.zeros(names, np.int64), np.zeros(names, np.int64))

    def by_name(self, names: Sequence[str]) -> dict[str, tuple[int, int]]:
        """Return (count, ns) of the names that ran."""
        totals = zip(names, self.counts.tolist(), self.times.tolist(), strict=True)
        return {name: (count, ns) for name, count, ns in totals if count}


def name_totals(
    lane: LaneOperations, *, names: int, window: Window | None = None, begun_in: Window = ALWAYS
) -> NameTotals:
    """Return the totals of a lane's kernels that begin in a stretch; with a window, of what of them lies inside it.

    `names` is how many kernel names there are.
    """
    total = NameTotals.nothing(names)
    for kernels in (lane.compute, lane.communication.only_kernels()):
        total += _totals(kernels, names=names, window=window, begun_in=begun_in)
    return total


def _totals(kernels: Operations, *, names: int, window: Window | None, begun_in: Window) -> NameTotals:
    if window is None:
        kernels = kernels if begun_in == ALWAYS else kernels.select(kernels.begin_in(begun_in))
        lengths = kernels.ends - kernels.starts
    else:
        kernels = kernels.select(kernels.are_in(window, begun_in=begun_in))
        lengths = np.minimum(kernels.ends, window.end_ns) - np.maximum(kernels.starts, window.start_ns)
    # bincount adds in float64, which holds whole nanoseconds up to 104 days exactly
    times = np.bincount(kernels.names, weights=lengths, minlength=names)
    return NameTotals(np.bincount(kernels.names, minlength=names), times.astype(np.int64))


def merged_totals(
    reports: Iterable[tuple[Mapping[str, tuple[int, int]], Mapping[str, Decision]]],
) -> tuple[KernelTotal, ...]:
    """Return the kernels with most time over all reports, most first; each report gives its totals and decisions."""
    counts: Counter[str] = Counter()
    times: Counter[str] = Counter()
    communicates: dict[str, bool] = {}
    for totals, decisions in reports:
        for name, (count, ns) in totals.items():
            counts[name] += count
            times[name] += ns
            communicates[name] = decisions[name].is_communication
    longest = sorted(times, key=lambda name: (-times[name], name))[:KERNELS_KEPT]
    return tuple(
        KernelTotal(name=name, is_communication=communicates[name], count=counts[name], total_ns=times[name])
        for name in longest
    )
