"""Refines the clocks of a job by the collectives that were found on several, and says how well they then agree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.clock_lines import ClockLine, fit_line, usual_distance
from gapfinder.analysis.clock_search import is_telling
from gapfinder.analysis.tracks import NOT_KNOWN

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gapfinder.analysis.intervals import Bools, Int64s
    from gapfinder.analysis.matching import LaneCommunication


FEWEST_TELLING = 8
"""So many collectives tell enough about a clock."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Alignment:
    """A clock against the one it was compared with.

    Attributes:
        root: number of the reference that it is aligned with, directly or by way of others; its own where there is
            none.
        parent: number of the clock it was compared with.
        line: how far it is ahead of the root.
        residual_ns: 95 % of their common collectives end no further apart; summed along the way to the root.
        collectives: found on this clock and on another one.
    """

    root: int
    parent: int
    line: ClockLine
    residual_ns: int
    collectives: int


@dataclass(frozen=True, slots=True, eq=False)
class CommonEnds:
    """When the collectives that are on several clocks ended on each; arrays have shape (n,), in order of instance.

    Attributes:
        clocks: number of the clock.
        instances: number of the collective.
        ends: ns on the clock; of several lanes there the median.
        tells: whether it is one that ends on all its members together.
    """

    clocks: Int64s
    instances: Int64s
    ends: Int64s
    tells: Bools

    @classmethod
    def of(cls, lanes: Sequence[LaneCommunication], instances: Sequence[Int64s]) -> CommonEnds:
        """Return them for lanes on their own clocks, and the collectives that `find_instances` found."""
        numbers, ends, operations = (
            np.concatenate([np.empty(0, np.int64), *arrays])
            for arrays in (instances, [lane.ends for lane in lanes], [lane.operations for lane in lanes])
        )
        clocks = np.repeat(np.array([lane.clock for lane in lanes], np.int64), [len(lane) for lane in lanes])
        known = np.flatnonzero(numbers != NOT_KNOWN)
        collectives = numbers[known] * (int(clocks.max(initial=0)) + 1) + clocks[known]  # of one clock
        within = np.lexsort((ends[known], collectives))
        order = known[within]
        is_new = np.ones(len(order), np.bool_)
        is_new[1:] = np.diff(collectives[within]) != 0
        firsts = np.flatnonzero(is_new)
        sides = firsts + np.append(firsts[1:], len(order))
        lower, upper = order[(sides - 1) // 2], order[sides // 2]
        on_several = np.bincount(numbers[lower], minlength=1)[numbers[lower]] > 1
        lower, upper = lower[on_several], upper[on_several]
        middles = ends[lower] + (ends[upper] - ends[lower]) // 2
        return cls(clocks[lower], numbers[lower], middles, is_telling(operations[lower]))

    def on(self, clock: int) -> CommonEnds:
        """Return those of one clock."""
        own = self.clocks == clock
        return CommonEnds(self.clocks[own], self.instances[own], self.ends[own], self.tells[own])


def refined(seeds: Mapping[int, Alignment], common: CommonEnds) -> list[Alignment]:
    """Return the alignments by the collectives that were found with `seeds`, in order of clock.

    Args:
        seeds: by number of the clock, each after its parent.
        common: when those collectives ended.
    """
    of_clocks = {number: common.on(number) for number in seeds}
    found: dict[int, Alignment] = {}
    for number, seed in seeds.items():
        one = replace(seed, collectives=len(of_clocks[number].ends))
        is_root = number == seed.parent
        found[number] = one if is_root else _fitted(one, of_clocks[number], parent=(found, of_clocks))
    return [found[number] for number in range(len(found))]


def _fitted(
    one: Alignment, own: CommonEnds, *, parent: tuple[Mapping[int, Alignment], Mapping[int, CommonEnds]]
) -> Alignment:
    """Return an alignment by the collectives shared with its parent; as it was without any."""
    aligned, theirs = parent[0][one.parent], parent[1][one.parent]
    _, mine, others = np.intersect1d(own.instances, theirs.instances, return_indices=True)
    tells = own.tells[mine]
    if tells.sum() >= FEWEST_TELLING:
        mine, others = mine[tells], others[tells]
    if len(mine) == 0:
        return one
    ends, parents = own.ends[mine], theirs.ends[others]
    line = fit_line(ends, ends - parents)
    residual = usual_distance(np.abs(line.corrected(ends) - parents))
    return replace(one, line=line.after(aligned.line), residual_ns=residual + aligned.residual_ns)
