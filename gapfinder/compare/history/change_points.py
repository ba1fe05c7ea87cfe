"""Finds where a series of runs went to another level for good, and says nothing of noise.

Binary segmentation (A. J. Scott and M. Knott, "A Cluster Analysis Method for Grouping Means in the Analysis of
Variance", Biometrics 30, 1974): the best split of a series is tested, and where it is real, both halves are split
again. Permutations decide what is real, as in D. S. Matteson and N. A. James, "A Nonparametric Approach for Multiple
Change Point Analysis of Multivariate Data", JASA 109, 2014: at most one in a thousand shuffles of the same values may
have a split as good, whatever the noise is distributed like. D. Daly et al. use them for benchmarks in CI ("The Use of
Change Point Detection to Identify Software Performance Regressions in a Continuous Integration System", ICPE 2020).
Outliers are pulled in first, so that a single bad run neither is a level nor hides one.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.compare.history.results import SHORTEST_LEVEL, ChangePoint

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_SHUFFLES = 9_999
_PER_BATCH = 1_111
_CHANCE = 0.001
_SEED = 1974
_FURTHEST = 3 * 1.4826  # in median absolute deviations: three standard deviations of a normal distribution


def change_points(values: Sequence[float]) -> tuple[ChangePoint, ...]:
    """Return where the level of `values` changes, in order; the same for the same values.

    A change needs four values on each side, and about 14 in all to be told from chance.
    """
    series = np.asarray(values, np.float64)
    splits = sorted(_splits(series, 0))
    edges = [0, *splits, len(series)]
    levels = [float(np.median(series[start:end])) for start, end in pairwise(edges) if end > start]
    return tuple(
        ChangePoint(at=at, before=before, after=after)
        for at, (before, after) in zip(splits, pairwise(levels), strict=True)
    )


def _splits(series: Floats, first: int) -> Iterator[int]:
    """Yield the places of all real splits of a series whose place is `first`."""
    if len(series) < 2 * SHORTEST_LEVEL:
        return
    tamed = _tamed(series)
    strengths = _strengths(tamed[np.newaxis])[0]
    best = int(strengths.argmax())
    if not strengths[best] > 0 or not _is_real(tamed, strength=float(strengths[best])):
        return
    at = best + SHORTEST_LEVEL
    yield first + at
    yield from _splits(series[:at], first)
    yield from _splits(series[at:], first + at)


def _tamed(series: Floats) -> Floats:
    """Return the series with what is far from its median pulled in; as it is where most of it is one value."""
    middle = np.median(series)
    reach = _FURTHEST * np.median(np.abs(series - middle))
    return np.clip(series, middle - reach, middle + reach) if reach else series


def _strengths(series: Floats) -> Floats:
    """Return how far apart both sides of each split are, in standard errors but for a constant factor.

    Takes shape (n, values) and returns shape (n, splits); the first split is after `SHORTEST_LEVEL` values.
    """
    count = series.shape[1]
    centred = series - series.mean(axis=1, keepdims=True)
    left = np.arange(SHORTEST_LEVEL, count - SHORTEST_LEVEL + 1)
    sums = np.cumsum(centred, axis=1)[:, left - 1]
    strengths: Floats = np.abs(sums) / np.sqrt(left * (count - left))
    return strengths


def _is_real(series: Floats, *, strength: float) -> bool:
    """Say whether shuffles of the series hardly ever have a split as strong; the series itself counts as one."""
    random = np.random.default_rng(_SEED)
    threshold = strength * (1 - 1e-9)  # sums in another order differ in their last digits
    as_strong = 1
    for _ in range(_SHUFFLES // _PER_BATCH):
        shuffled = random.permuted(np.broadcast_to(series, (_PER_BATCH, len(series))), axis=1)
        as_strong += int((_strengths(shuffled).max(axis=1) >= threshold).sum())
        if as_strong > _CHANCE * (_SHUFFLES + 1):
            return False
    return True
