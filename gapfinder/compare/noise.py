"""One number out of many steps, and how far chance alone moves it: a percentile bootstrap over steps.

Lanes of a job wait for each other, so their steps are no independent observations: a resampled step is taken from all
lanes at once. The draws have fixed seeds, so that the same snapshots give the same interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from gapfinder.compare.metrics import Metric, Scope, Statistic

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gapfinder.compare.samples import Floats, Samples

    Counts = NDArray[np.unsignedinteger[Any]]

RESAMPLES = 2_000
CONFIDENCE_PERCENT = 95
_SEED = 20_260_302


@dataclass(frozen=True, kw_only=True, slots=True)
class Interval:
    """Where the change new - old lies with 95 % confidence; a ratio or ns."""

    low: float
    high: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Estimate:
    """A metric's value; NaN where there was nothing to divide by.

    Attributes:
        lane: index of the lane it is of; None for the total.
    """

    value: float
    lane: int | None


def estimates(samples: Samples, *, metric: Metric, scope: Scope) -> list[Estimate]:
    """Return the metric over all steps: one value of the total or of the worst lane, or one of every lane."""
    (values,) = _values(samples, metric=metric, scope=scope, counts=np.ones((1, samples.steps), np.uint8))
    if scope is Scope.TOTAL:
        return [Estimate(value=float(values[0]), lane=None)]
    if scope is Scope.EVERY:
        return [Estimate(value=value, lane=lane) for lane, value in enumerate(values.tolist())]
    if np.isnan(values).all():
        return [Estimate(value=np.nan, lane=None)]
    worst = int(np.nanargmin(values) if metric.higher_is_better else np.nanargmax(values))
    return [Estimate(value=float(values[worst]), lane=worst)]


def intervals(
    old: Samples, new: Samples, *, metric: Metric, scope: Scope, resamples: int = RESAMPLES
) -> list[Interval]:
    """Return the interval of the change from `old` to `new` for each value that `estimates` returns."""
    before, after = (
        _resampled(samples, metric=metric, scope=scope, counts=_drawn(samples.runs, side, resamples))
        for side, samples in enumerate((old, new))
    )
    tail = (100 - CONFIDENCE_PERCENT) / 2
    return [_interval(change, tail=tail) for change in (after - before).T]


def _interval(changes: Floats, *, tail: float) -> Interval:
    known = changes[~np.isnan(changes)]
    if not known.size:
        return Interval(low=-np.inf, high=np.inf)
    low, high = np.percentile(known, [tail, 100 - tail])
    return Interval(low=float(low), high=float(high))


def _resampled(samples: Samples, *, metric: Metric, scope: Scope, counts: Counts) -> Floats:
    """Return the values of all resamples; shape (resamples, values). The worst lane is chosen anew in each."""
    values = _values(samples, metric=metric, scope=scope, counts=counts)
    if scope is not Scope.WORST:
        return values
    # fmax and fmin take the number where the other is NaN
    worst = np.fmin if metric.higher_is_better else np.fmax
    return np.asarray(worst.reduce(values, axis=1))[:, np.newaxis]


@lru_cache(maxsize=8)
def _drawn(runs: tuple[int, ...], side: int, resamples: int) -> Counts:
    """Return how often each resample has each step; shape (resamples, steps).

    Both sides are drawn independently, and from each of the `runs` as many steps as it has: how far runs are apart is
    no noise of the steps.
    """
    random = np.random.default_rng([_SEED, side])
    of_runs = []
    for steps in runs:
        places = random.integers(0, steps, size=(resamples, steps)) + steps * np.arange(resamples)[:, np.newaxis]
        of_runs.append(np.bincount(places.ravel(), minlength=resamples * steps).reshape(resamples, steps))
    return np.hstack(of_runs).astype(np.min_scalar_type(sum(runs)))


def _values(samples: Samples, *, metric: Metric, scope: Scope, counts: Counts) -> Floats:
    """Return the metric's value of each lane, or of all together, in each resample; shape (resamples, values).

    NaN stands where a sum to divide by is zero. Of all lanes together, a time per step is first averaged over them.
    """
    parts, wholes = samples.parts, samples.wholes
    if metric.statistic is Statistic.RATIO_OF_SUMS:
        if scope is Scope.TOTAL:
            parts, wholes = parts.sum(axis=0, keepdims=True), wholes.sum(axis=0, keepdims=True)
        weights = counts.astype(np.float64)
        divisor = weights @ wholes.T
        return np.divide(weights @ parts.T, divisor, out=np.full_like(divisor, np.nan), where=divisor > 0)
    if scope is Scope.TOTAL:
        parts = parts.mean(axis=0, keepdims=True)
    if metric.statistic is Statistic.MEAN:
        return np.asarray(counts.astype(np.float64) @ parts.T / samples.steps)
    by_step = np.ascontiguousarray(counts.T)
    return np.stack([_quantile(lane, by_step, _QUANTILES[metric.statistic]) for lane in parts], axis=1)


def _quantile(values: Floats, counts: Counts, quantile: float) -> Floats:
    """Return a quantile of each resample, linear between two of its values; `counts` has shape (steps, resamples).

    How many of a resample's values are up to each value says where its n-th one is: nothing has to be sorted again.
    """
    order = np.argsort(values)
    up_to = np.cumsum(counts[order], axis=0, dtype=counts.dtype)
    place = quantile * (len(values) - 1)
    at = int(place)
    low = values[order][(up_to <= at).sum(axis=0, dtype=counts.dtype)]
    if place == at:
        return np.asarray(low)
    high = values[order][(up_to <= at + 1).sum(axis=0, dtype=counts.dtype)]
    return np.asarray(low + (place - at) * (high - low))


_QUANTILES = {Statistic.MEDIAN: 0.5, Statistic.P99: 0.99}
