"""How fast a lane's GPU was clocked while it worked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from gapfinder.analysis.intervals import Int64s, Intervals

_FEWEST_SAMPLES = 10


class Clocks:
    """The sampled clocks of one report, by the machine's number of the GPU."""

    def __init__(self, clocks: pd.DataFrame) -> None:
        self._samples: dict[int, tuple[Int64s, Int64s]] = {
            gpu: tuple(clocks.loc[clocks["gpu"] == gpu, name].to_numpy() for name in ("time", "clock"))
            for gpu in clocks["gpu"].unique().tolist()
        }

    def at_work(self, gpu: int | None, *, busy: Intervals) -> Int64s:
        """Return the clocks in Hz of the samples in which the lane was busy; shape (samples,).

        Args:
            gpu: the machine's number; None where it is not known.
            busy: when the lane ran anything.
        """
        if gpu is None or gpu not in self._samples:
            return np.empty(0, np.int64)
        times, clocks = self._samples[gpu]
        return clocks[busy.holds(times)]


def median_clock(at_work: Int64s) -> int | None:
    """Return the median of sampled clocks in Hz; None with too few of them."""
    return round(float(np.median(at_work))) if len(at_work) >= _FEWEST_SAMPLES else None


def clock_ratios(clocks: Sequence[int | None]) -> list[float | None]:
    """Return each lane's clock to that of the median lane; None where it is not known, or of no other lane."""
    known = [clock for clock in clocks if clock is not None]
    if len(known) <= 1:
        return [None] * len(clocks)
    usual = float(np.median(known))
    return [None if clock is None else clock / usual for clock in clocks]
