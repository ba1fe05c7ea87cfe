"""A clock against another one as a straight line, fitted so that outliers do not move it; times stay integers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gapfinder.analysis.intervals import Int64s

    Floats = NDArray[np.float64]

_BILLION = 1_000_000_000

# All pairs of points give a slope each, so there are not too many points; with few, one outlier could tilt the line.
_MOST_POINTS, _FEWEST_POINTS = 64, 8
# Quartz drifts by up to 100 ppm. A slope that is not known to 5 ppm is noise of a short capture.
_DRIFT_IS_KNOWN_PPB = 5_000
_OF_NORMAL = 1.4826
"""Standard deviation of a normal distribution to its median distance from the median."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ClockLine:
    """How far a clock is ahead of another one: `offset_ns` at its own time `at_ns`, and `drift_ppb` more each second.

    Attributes:
        drift_is_known: False where the capture is too short to tell; `drift_ppb` is then 0.
        scatter_ns: 95 % of what it was fitted to lies no further from it.
    """

    at_ns: int = 0
    offset_ns: int = 0
    drift_ppb: int = 0
    drift_is_known: bool = False
    scatter_ns: int = 0

    def ahead(self, times: Int64s) -> Int64s:
        """Return how far it is ahead at `times` (any shape, ns on its own clock)."""
        # product by seconds and rest: ns times ppb do not fit 64 bits after some hours
        seconds, rest = np.divmod(times - self.at_ns, _BILLION)
        ahead: Int64s = self.offset_ns + seconds * self.drift_ppb + rest * self.drift_ppb // _BILLION
        return ahead

    def corrected(self, times: Int64s) -> Int64s:
        """Return what the other clock showed at `times` (any shape, ns on its own clock)."""
        corrected: Int64s = times - self.ahead(times)
        return corrected

    def after(self, other: ClockLine) -> ClockLine:
        """Return this clock against the one that `other`, the clock this one is held against, is held against."""
        between = other.ahead(np.array(self.at_ns - self.offset_ns))
        return ClockLine(
            at_ns=self.at_ns,
            offset_ns=self.offset_ns + int(between),
            drift_ppb=self.drift_ppb + other.drift_ppb,
            drift_is_known=self.drift_is_known and other.drift_is_known,
            scatter_ns=self.scatter_ns + other.scatter_ns,
        )


REFERENCE = ClockLine(drift_is_known=True)
"""A clock against itself."""


def fit_line(times: Int64s, ahead: Int64s) -> ClockLine:
    """Return the line through how far a clock was `ahead` at its `times` (both shape (n,), n > 0, any order, ns).

    The slope is the median of those between medians of consecutive points (Theil, 1950; Sen, 1968), the offset a
    median as well: half of the points must be wrong before the line is.
    """
    at, base = int(np.median(times)), int(np.median(ahead))
    since, over = (times - at).astype(np.float64), (ahead - base).astype(np.float64)
    order = np.argsort(since, kind="stable")
    slope, is_known = _slope(_medians(since[order]), _medians(over[order]))
    if is_known:  # the median of a part's values need not lie at that of its times: less so once the slope is taken off
        slope += _slope(_medians(since[order]), _medians((over - since * slope)[order]))[0]
    drift = round(slope * _BILLION)
    offset = round(float(np.median(over - since * slope)))
    line = ClockLine(at_ns=at, offset_ns=base + offset, drift_ppb=drift, drift_is_known=is_known)
    scatter = np.abs(ahead - line.ahead(times))
    return ClockLine(
        at_ns=at,
        offset_ns=line.offset_ns,
        drift_ppb=drift,
        drift_is_known=is_known,
        scatter_ns=usual_distance(scatter),
    )


def usual_distance(distances: Int64s) -> int:
    """Return what 95 % of `distances` (shape (n,), n > 0) do not exceed."""
    return int(np.percentile(distances, 95, method="higher"))


def _medians(values: Floats) -> Floats:
    """Return the medians of as many parts of `values` (shape (n,)) as there are points, those with one more first."""
    count = min(len(values), _MOST_POINTS)
    length, longer = divmod(len(values), count)
    edge = longer * (length + 1)
    parts = (values[:edge].reshape(longer, length + 1), values[edge:].reshape(count - longer, length))
    return np.concatenate([np.median(part, axis=1) for part in parts if len(part)])


def _slope(times: Floats, values: Floats) -> tuple[float, bool]:
    """Return the median slope between all pairs of points, and whether it is known well enough; else 0."""
    if len(times) < _FEWEST_POINTS:
        return 0.0, False
    one, other = np.triu_indices(len(times), k=1)
    apart = times[other] - times[one]
    slopes = (values[other] - values[one])[apart > 0] / apart[apart > 0]
    if len(slopes) == 0:
        return 0.0, False
    slope = float(np.median(slopes))
    rest = values - slope * times
    scatter = _OF_NORMAL * float(np.median(np.abs(rest - np.median(rest))))
    # of a least squares slope; that of the median of slopes is hardly larger
    spread = float(np.sqrt(((times - times.mean()) ** 2).sum()))
    is_known = scatter * _BILLION <= _DRIFT_IS_KNOWN_PPB * spread
    return (slope, True) if is_known else (0.0, False)
