"""The steps of a snapshot as arrays, lane by step, in which one column is one step of the whole job."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gapfinder.budget import Budget
    from gapfinder.compare.metrics import Metric
    from gapfinder.compare.snapshot import LaneSnapshot

    Floats = NDArray[np.float64]
    Rows = Sequence[Sequence[Budget]]


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Samples:
    """One metric's steps; both arrays have shape (lanes, steps), in ns.

    Attributes:
        parts: the time the metric is about.
        wholes: what a ratio divides by; ones for a time per step.
        runs: how many of the steps each run has, one run after the other.
    """

    parts: Floats
    wholes: Floats
    runs: tuple[int, ...]

    @property
    def steps(self) -> int:
        """Number of steps."""
        return len(self.parts[0])


def sampled(metric: Metric, *runs: Rows) -> Samples:
    """Return the metric's samples of one or several runs, each with the budgets of the same steps for each lane."""
    rows = [list(chain.from_iterable(steps)) for steps in zip(*runs, strict=True)]
    whole = metric.whole or _one
    return Samples(
        parts=np.array([[metric.part(budget) for budget in row] for row in rows], np.float64),
        wholes=np.array([[whole(budget) for budget in row] for row in rows], np.float64),
        runs=tuple(len(run[0]) for run in runs),
    )


def _one(_budget: Budget) -> int:
    return 1


def common_steps(lanes: Sequence[LaneSnapshot]) -> list[list[Budget]]:
    """Return for each lane the budgets of the steps that all lanes have complete, in the order of the first lane.

    Steps are matched by number; where numbers start again (with each epoch), by number and how often it was there.
    """
    by_key = [_by_key(lane) for lane in lanes]
    shared = [key for key in by_key[0] if all(key in one for one in by_key)]
    return [[one[key] for key in shared] for one in by_key]


def _by_key(lane: LaneSnapshot) -> dict[tuple[int, int], Budget]:
    seen: Counter[int] = Counter()
    found = {}
    for step in lane.steps:
        found[step.number, seen[step.number]] = step.budget
        seen[step.number] += 1
    return found
