"""The stretch of a lane's time that is measured at once, and what is counted in it so that nothing is counted twice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.budget import ALWAYS, Window

if TYPE_CHECKING:
    from gapfinder.analysis.intervals import Bools, Int64s


@dataclass(frozen=True, slots=True)
class Stretch:
    """Part of a lane's window; all of it, where the lane is measured at once.

    Time is measured where it lies inside. What is counted, and may lie in several stretches, belongs to the one in
    which it begins, and what begins before the lane's window to the first one.

    Attributes:
        window: of the lane.
        inside: what of it lies in the stretch; never empty.
        begun_in: what begins here is counted.
    """

    window: Window
    inside: Window
    begun_in: Window

    @classmethod
    def of(cls, window: Window, *, between: Window = ALWAYS) -> Stretch | None:
        """Return what lies between two cuts; None where that is nothing."""
        start, end = max(window.start_ns, between.start_ns), min(window.end_ns, between.end_ns)
        if end <= start:
            return None
        is_first = between.start_ns <= window.start_ns
        begun_in = Window(start_ns=ALWAYS.start_ns if is_first else between.start_ns, end_ns=between.end_ns)
        return cls(window, Window(start_ns=start, end_ns=end), begun_in)


class CountedCalls:
    """Which CUDA calls of a lane are counted already, one bit for each of the report."""

    def __init__(self, calls: int) -> None:
        self._bits = np.zeros(calls // 8 + 1, np.uint8)

    def first_time(self, numbers: Int64s) -> Bools:
        """Say which of some calls, each given once, were not counted yet, and count them; shape (n,)."""
        if len(numbers) == 0:
            return np.empty(0, np.bool_)
        first, last = int(numbers.min()) // 8, int(numbers.max()) // 8
        counted = np.unpackbits(self._bits[first : last + 1])
        places = numbers - 8 * first
        is_new: Bools = counted[places] == 0
        counted[places] = 1
        self._bits[first : last + 1] = np.packbits(counted)
        return is_new
