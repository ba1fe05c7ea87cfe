"""How far a metric moved, and what is to be said of it: worse than allowed, better, or not to be told from chance."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan, sqrt
from statistics import stdev
from typing import TYPE_CHECKING

from gapfinder.compare.verdict import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.compare.metrics import Metric
    from gapfinder.compare.noise import Interval

# Student's t, the 97.5th percentile for 2, 3, ... degrees of freedom
_STUDENT = (
    *(4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228),
    *(2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093),
)
MOST_RUNS = len(_STUDENT) + 2
"""More runs are not pooled."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Change:
    """A metric before and after; a ratio or ns.

    Attributes:
        allowed: by how much it may get worse.
        interval: where the change lies by the noise of the steps.
        spread: how far runs of the same code may be apart; None where it is not known.
        runs: how many runs `old` is of.
        steps: how many steps `old` and `new` stand on.
    """

    metric: Metric
    old: float
    new: float
    allowed: float
    interval: Interval
    spread: float | None
    runs: int
    steps: tuple[int, int]

    @property
    def worse(self) -> float:
        """By how much it got worse; negative where it got better."""
        return self.old - self.new if self.metric.higher_is_better else self.new - self.old

    @property
    def is_within_spread(self) -> bool:
        """Whether runs of the same code are as far apart."""
        return abs(self.worse) <= (self.spread or 0.0)

    @property
    def result(self) -> Result:
        """What it means.

        It is a breach when it is worse by more than allowed, and neither the noise of the steps nor that of runs
        explains that anything got worse. It is unknown where it is beyond what is allowed and they do; or where the
        interval reaches beyond what is allowed although the change itself does not, and is so wide that a breach could
        hide in it.
        """
        least, most = self.interval.low, self.interval.high
        if self.metric.higher_is_better:
            least, most = -most, -least
        if self.worse > self.allowed:
            return Result.BREACHED if least > 0 and not self.is_within_spread else Result.UNKNOWN
        if most > self.allowed and most - self.worse > self.allowed:
            return Result.UNKNOWN
        is_better = -self.worse > self.allowed and most < 0 and not self.is_within_spread
        return Result.IMPROVED if is_better else Result.KEPT


def spread_of(values: Sequence[float], *, old: float, metric: Metric) -> float | None:
    """Return how much worse than `old` another run of the same code may be, by the values of several runs.

    It is as far as the worst of them, and from three runs on as far as one more run would be with 95 % confidence: the
    prediction interval of a normal distribution (G. J. Hahn, "Factors for Calculating Two-Sided Prediction Intervals
    for Samples from a Normal Distribution", JASA 64, 1969).
    """
    known = [value for value in values if not isnan(value)]
    if len(known) < 2:  # noqa: PLR2004 (of one run nothing is known)
        return None
    furthest = max(old - min(known) if metric.higher_is_better else max(known) - old, 0.0)
    if len(known) == 2:  # noqa: PLR2004 (two say next to nothing of a third)
        return furthest
    return max(furthest, _STUDENT[len(known) - 3] * stdev(known) * sqrt(1 + 1 / len(known)))
