"""Tells whether a noisy series has left its level for good: learns level and spread once, and then holds them."""

from __future__ import annotations

from collections import deque
from math import sqrt
from statistics import fmean, median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_FEWEST_POINTS, _MOST_POINTS = 5, 256
_FEWEST_STEPS, _FEWEST_OF_LONG_STEPS = 40, 12
_LEARN_NS, _LEARN_LONG_NS = 5_000_000_000, 60_000_000_000
_RECKONED_EVERY = 16  # points
_LONGEST_RUN = 256
_NOISE_LASTS_NS = 2_000_000_000  # of which too little has been seen at first to tell
_BATCHES = (8, 32)
_FEWEST_BATCHES = 5
_UNSEEN = 1.5  # times its spread, while too little has been seen to tell whether it lasts
_CLEARLY = 1.4  # times; a few batches of independent points differ by less
_LINE = 0.5  # of the rise that counts: there a sum tells a rise of that size from none in the fewest values
_LEAST = 0.75  # of the rise: what the median must exceed, so that one of exactly that size is found in spite of noise
_WAIT = 1  # times how long a rise must last
_CLIP = 2.5  # in rises: no single value says more
_LOG_RUN_LENGTH = 11.0  # once in exp(11), 60,000, points would noise alone cross the bar


class Level:
    """The level of a series of logarithms, and whether it has risen, or fallen, for long enough.

    A cumulative sum (Page, 1954) adds up by how much each value is over a line between the level and the rise that
    counts. Its bar is as high as the spread demands, so that noise alone hardly ever crosses it.
    """

    def __init__(self, rise: float, *, sustained_ns: int, sustained_steps: int, least: float | None = None) -> None:
        """Begin to learn.

        Args:
            rise: what is a rise, as a difference of logarithms.
            sustained_ns: for how long it must last, and
            sustained_steps: over how many steps.
            least: the level is this one at first, whatever the values are, and never lower; None to learn it, too.
        """
        self._rise, self._sustained_ns, self._sustained_steps = rise, sustained_ns, sustained_steps
        self._least = least
        self.learn_anew()
        self._is_learnt = least is None

    def learn_anew(self) -> None:
        """Take what comes next as usual."""
        self._is_learnt = True
        self._points: list[float] = []
        self._steps = 0
        self._spent_ns = 0
        self._center: float | None = None
        self._bar = self._uncertain = 0.0
        self._up, self._down = _Run(), _Run()
        self._waiting: deque[tuple[float, int, int]] = deque(maxlen=_LONGEST_RUN)
        self._waiting_ns = 0

    @property
    def center(self) -> float | None:
        """The level; None while it is being learnt."""
        return self._center

    @property
    def now(self) -> float | None:
        """The level of the values since it began to rise; None while it does not."""
        return self._up.median()

    @property
    def risen_ns(self) -> int:
        """For how long it has been over the level."""
        return self._up.lasted_ns

    @property
    def is_rising(self) -> bool:
        """Whether the last values may be a rise: the sum is half way up to the bar."""
        return self._up.total >= self._bar / 2 and self._is_over(self._up)

    @property
    def has_risen(self) -> bool:
        """Whether the values have been over the level for long enough, and by more than noise."""
        return self._is_sustained(self._up) and self._is_over(self._up)

    def add(self, value: float, *, steps: int, spent_ns: int) -> None:
        """Take in one value, the median of `steps` steps that took `spent_ns`."""
        if self._center is None:
            self._learn([value], steps=steps, spent_ns=spent_ns)
            return
        difference = value - self._center
        clip, line = _CLIP * self._rise, _LINE * self._rise + self._uncertain
        score = max(-clip, min(clip, difference))
        limit = 2 * self._bar
        is_calm = self._up.add(score - line, value, steps=steps, spent_ns=spent_ns, limit=limit)
        self._down.add(-score - line, value, steps=steps, spent_ns=spent_ns, limit=limit)
        if self._is_sustained(self._down) and self._center != self._least:
            self._fall()
        elif len(self._points) < _MOST_POINTS:
            self._learn_later(value, steps=steps, spent_ns=spent_ns, is_calm=is_calm)

    def _learn_later(self, value: float, *, steps: int, spent_ns: int, is_calm: bool) -> None:
        """Learn from values only when a rise that they belong to would have been found, or is over."""
        self._waiting.append((value, steps, spent_ns))
        self._waiting_ns += spent_ns
        while self._waiting and is_calm and self._waiting_ns > _WAIT * self._sustained_ns:
            settled, its_steps, its_ns = self._waiting.popleft()
            self._waiting_ns -= its_ns
            self._learn([settled], steps=its_steps, spent_ns=its_ns)

    def _fall(self) -> None:
        """Take the lower level that has been there for a while as the usual one."""
        values, steps, spent_ns = self._down.take(), self._down.steps, self._down.lasted_ns
        self.learn_anew()
        self._learn(values, steps=steps, spent_ns=spent_ns)

    def _learn(self, values: Sequence[float], *, steps: int, spent_ns: int) -> None:
        self._points += values
        self._steps += steps
        self._spent_ns += spent_ns
        enough = self._steps >= _FEWEST_STEPS and self._spent_ns >= _LEARN_NS
        enough_long = self._steps >= _FEWEST_OF_LONG_STEPS and self._spent_ns >= _LEARN_LONG_NS
        if len(self._points) < _FEWEST_POINTS or not (enough or enough_long):
            return
        if self._center is not None and len(self._points) % _RECKONED_EVERY and len(self._points) != _MOST_POINTS:
            return
        middle = median(self._points)
        spread = _spread(self._points, middle=middle, clip=_CLIP * self._rise)
        self._center = middle if self._least is None else max(middle, self._least) if self._is_learnt else self._least
        independent = max(1.0, min(len(self._points), 2 * self._spent_ns / _NOISE_LASTS_NS))
        self._uncertain = 1.25 * spread / sqrt(independent)  # 1.25: a median's error to a mean's
        line = _LINE * self._rise
        for_bar = spread if len(self._points) >= _FEWEST_BATCHES * max(_BATCHES) else _UNSEEN * spread
        self._bar = max(line, _LOG_RUN_LENGTH * for_bar**2 / (2 * line))

    def _is_over(self, run: _Run) -> bool:
        middle = run.median()
        return (
            middle is not None
            and self._center is not None
            and middle - self._center > _LEAST * self._rise + self._uncertain
        )

    def _is_sustained(self, run: _Run) -> bool:
        return run.total >= self._bar > 0 and run.lasted_ns >= self._sustained_ns and run.steps >= self._sustained_steps


class _Run:
    """A cumulative sum, and what has come since it was last at 0."""

    def __init__(self) -> None:
        self.total = 0.0
        self.values: deque[float] = deque(maxlen=_LONGEST_RUN)
        self.steps = 0
        self.lasted_ns = 0

    def add(self, score: float, value: float, *, steps: int, spent_ns: int, limit: float) -> bool:
        """Add a score; return whether the sum is at 0, where `values` is what has led there."""
        if not self.total:
            self.values.clear()
            self.steps = self.lasted_ns = 0
        self.total = min(limit, max(0.0, self.total + score))
        self.values.append(value)
        self.steps += steps
        self.lasted_ns += spent_ns
        return not self.total

    def take(self) -> list[float]:
        return list(self.values)

    def median(self) -> float | None:
        """Return the median since the sum left 0; None at 0."""
        return median(self.values) if self.total else None


def _spread(points: Sequence[float], *, middle: float, clip: float) -> float:
    """Return the spread of independent points whose sum would vary as much as the sum of these does.

    Values are clipped as their scores are, so that a few long ones count little. Noise that lasts (another job on the
    machine) shows in the means of batches, which vary more than their points tell.
    """
    over = [max(-clip, min(clip, point - middle)) for point in points]
    alone = sqrt(fmean([difference**2 for difference in over]))
    lasting = max(_lasting(over, size) for size in _BATCHES)
    return lasting if lasting > _CLEARLY * alone else alone


def _lasting(over: Sequence[float], size: int) -> float:
    means = [fmean(over[first : first + size]) for first in range(0, len(over) - size + 1, size)]
    if len(means) < _FEWEST_BATCHES:
        return 0.0
    middle = fmean(means)
    return sqrt(size * fmean([(mean - middle) ** 2 for mean in means]))
