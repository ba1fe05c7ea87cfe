"""One number out of many steps, and how far chance alone moves it: a percentile bootstrap over steps.

Lanes of a job wait for each other, so their steps are no independent observations: a resampled step is taken from all
lanes at once. The draws have fixed seeds, so that the same snapshots give the same interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.compare.metrics import Metric, Scope, Statistic

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from gapfinder.compare.samples import Floats, Samples

    Picks = NDArray[np.int64]

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
    every_step = np.arange(samples.steps)[np.newaxis]
    if scope is Scope.TOTAL:
        return [Estimate(value=float(_total(samples, metric, every_step)[0]), lane=None)]
    (values,) = _by_lane(samples, metric, every_step)
    if scope is Scope.EVERY:
        return [Estimate(value=value, lane=lane) for lane, value in enumerate(values.tolist())]
    if np.isnan(values).all():
        return [Estimate(value=np.nan, lane=None)]
    worst = int(np.nanargmin(values) if metric.higher_is_better else np.nanargmax(values))
    return [Estimate(value=float(values[worst]), lane=worst)]


def intervals(old: Samples, new: Samples, *, metric: Metric, scope: Scope) -> list[Interval]:
    """Return the interval of the change from `old` to `new` for each value that `estimates` returns."""
    before = _resampled(old, metric=metric, scope=scope, side=0)
    after = _resampled(new, metric=metric, scope=scope, side=1)
    tail = (100 - CONFIDENCE_PERCENT) / 2
    return [_interval(change, tail=tail) for change in (after - before).T]


def _interval(changes: Floats, *, tail: float) -> Interval:
    known = changes[~np.isnan(changes)]
    if not known.size:
        return Interval(low=-np.inf, high=np.inf)
    low, high = np.percentile(known, [tail, 100 - tail])
    return Interval(low=float(low), high=float(high))


def _resampled(samples: Samples, *, metric: Metric, scope: Scope, side: int) -> Floats:
    """Return the values of all resamples; shape (resamples, values). The worst lane is chosen anew in each."""
    picks = _picks(samples.steps, side)
    if scope is Scope.TOTAL:
        return _total(samples, metric, picks)[:, np.newaxis]
    values = _by_lane(samples, metric, picks)
    if scope is Scope.EVERY:
        return values
    # fmax and fmin take the number where the other is NaN
    worst = np.fmin if metric.higher_is_better else np.fmax
    return np.asarray(worst.reduce(values, axis=1))[:, np.newaxis]


@lru_cache(maxsize=8)
def _picks(steps: int, side: int) -> Picks:
    """Return which steps each resample consists of; shape (resamples, steps). Both sides are drawn independently."""
    return np.random.default_rng([_SEED, side]).integers(0, steps, size=(RESAMPLES, steps))


def _total(samples: Samples, metric: Metric, picks: Picks) -> Floats:
    """Return the value of all lanes together; a time per step is first averaged over the lanes. Shape (resamples,)."""
    if metric.statistic is Statistic.RATIO_OF_SUMS:
        sums = samples.parts.sum(axis=0, keepdims=True), samples.wholes.sum(axis=0, keepdims=True)
        return _ratio_of_sums(*sums, picks)[:, 0]
    return _REDUCE[metric.statistic](samples.parts.mean(axis=0)[picks])


def _by_lane(samples: Samples, metric: Metric, picks: Picks) -> Floats:
    """Return the value of each lane; shape (resamples, lanes)."""
    if metric.statistic is Statistic.RATIO_OF_SUMS:
        return _ratio_of_sums(samples.parts, samples.wholes, picks)
    return np.stack([_REDUCE[metric.statistic](lane[picks]) for lane in samples.parts], axis=1)


def _ratio_of_sums(parts: Floats, wholes: Floats, picks: Picks) -> Floats:
    """Return each lane's ratio of sums; shape (resamples, lanes), NaN where a sum to divide by is zero."""
    resamples, steps = picks.shape
    places = picks + steps * np.arange(resamples)[:, np.newaxis]
    times = np.bincount(places.ravel(), minlength=resamples * steps).reshape(resamples, steps).astype(np.float64)
    divisor = times @ wholes.T
    return np.divide(times @ parts.T, divisor, out=np.full_like(divisor, np.nan), where=divisor > 0)


_REDUCE: dict[Statistic, Callable[[Floats], Floats]] = {
    Statistic.MEDIAN: lambda values: np.median(values, axis=1),
    Statistic.MEAN: lambda values: np.mean(values, axis=1),
    Statistic.P99: lambda values: np.percentile(values, 99, axis=1),
}
