"""Tells whether a noisy series has left its level for good: learns level and spread, and then holds them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import ceil, sqrt
from statistics import fmean, median, pstdev
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

_BLOCKS = 4  # that a rise must fill at least: a pause, or a burst of another job, fills one or two
_PARTS = 5  # of the time that a rise must last: one block each, or a step
_MOST_BLOCKS = 32  # that it takes at most to tell a rise from noise
_FEWEST_LEARNT, _FEWEST_LEARNT_STEPS = 2, 12
_MOST_LEARNT = 24  # then the level is held, and a creeping rise cannot take it along
_ENOUGH_FOR_SPREAD = 8
_LASTING_NOISE = 1.5  # times: points close together are more alike than points of different blocks
_LEAST = 0.75  # of the rise: so that one of exactly that size is found in spite of noise
_LEAST_OF_MOST = 0.4
_ERRORS = 5  # standard errors of the mean: a week has 200,000 of them to be wrong in
_DOUBT = 2.0  # standard errors of the spread itself: that of a few blocks may be far too small
_TO_SIGMA = 1.4826  # times a median absolute deviation, of normal noise
_SOME = 3


@dataclass(frozen=True, slots=True)
class _Block:
    value: float
    steps: int
    spent_ns: int


class Level:
    """The level of a series of logarithms, and whether it has risen, or fallen, for long enough.

    Values are gathered into blocks of time. The level is the median of the first blocks, and their spread tells how
    much one differs from the next where nothing changes. The last blocks have risen when their mean is over the level
    by the rise that counts and by more than noise makes likely, and most of them are over it. Where the fewest that are
    long enough do not tell, two and four times as many may: the noisier, the longer it takes to be sure.
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
        self._spread = 0.0
        self.learn_anew()
        self._is_given = least is not None

    def learn_anew(self) -> None:
        """Take what comes next as usual."""
        self._is_given = False
        self._learnt: list[_Block] = []
        self._inside: list[float] = []  # spreads of points inside a block
        self._recent: deque[_Block] = deque()
        self._risen: list[_Block] = []
        self._points: list[float] = []
        self._steps = self._spent_ns = 0
        self._center: float | None = None
        self._spread_before = self._spread

    @property
    def center(self) -> float | None:
        """The level; None while it is being learnt."""
        return self._center

    @property
    def now(self) -> float | None:
        """The level of the blocks that have risen; None where none have."""
        return median(block.value for block in self._risen) if self._risen else None

    @property
    def lasted_ns(self) -> int:
        """How long those blocks took."""
        return sum(block.spent_ns for block in self._risen)

    @property
    def is_rising(self) -> bool:
        """Whether the last two blocks are over the level, so that a rise may be coming."""
        return len(self._recent) > 1 and all(
            self._over(block) > _LEAST * self._rise for block in list(self._recent)[-2:]
        )

    @property
    def has_risen(self) -> bool:
        """Whether the values have been over the level for long enough, and by more than noise."""
        return bool(self._risen)

    def add(self, value: float, *, steps: int, spent_ns: int) -> None:
        """Take in one value, typical of `steps` steps that took `spent_ns`."""
        self._points.append(value)
        self._steps += steps
        self._spent_ns += spent_ns
        if self._spent_ns >= self._sustained_ns / _PARTS:
            block = _Block(_typical(self._points), self._steps, self._spent_ns)
            if len(self._points) >= _SOME and len(self._learnt) < _MOST_LEARNT:
                self._inside.append(pstdev(self._points) / sqrt(len(self._points)))
            self._points, self._steps, self._spent_ns = [], 0, 0
            self._take(block)

    def _take(self, block: _Block) -> None:
        self._recent.append(block)
        if self._center is None:
            self._learn_at_first()
            return
        while len(self._recent) > self._blocks_needed() and self._is_long_enough(list(self._recent)[1:]):
            oldest = self._recent.popleft()
            if min(map(self._over, (oldest, *self._recent))) < _LEAST * self._rise:  # else it may be of a rise
                self._learn(oldest)
        self._risen = self._moved(1)
        if self._center != self._least and (fallen := self._moved(-1)):
            self.learn_anew()
            for one in fallen:
                self._learn(one)

    def _is_long_enough(self, blocks: Sequence[_Block]) -> bool:
        is_long = sum(block.spent_ns for block in blocks) >= self._sustained_ns
        return len(blocks) >= _BLOCKS and is_long and sum(block.steps for block in blocks) >= self._sustained_steps

    def _blocks_needed(self) -> int:
        """Return over how many blocks noise averages out enough for the smallest rise that counts; learning first."""
        if len(self._learnt) < _ENOUGH_FOR_SPREAD:
            return _BLOCKS
        needed = (_ERRORS * self._spread / (_LEAST * self._rise)) ** 2
        return max(_BLOCKS, min(_MOST_BLOCKS, ceil(needed)))

    def _learn_at_first(self) -> None:
        """Learn the last blocks at once: there is nothing yet that they could be held against."""
        blocks = [*self._learnt, *self._recent]
        if len(blocks) >= _FEWEST_LEARNT and sum(block.steps for block in blocks) >= _FEWEST_LEARNT_STEPS:
            for block in self._recent:
                self._learn(block)
            self._recent.clear()

    def _learn(self, block: _Block) -> None:
        if len(self._learnt) >= _MOST_LEARNT:
            return
        self._learnt.append(block)
        steps = sum(one.steps for one in self._learnt)
        if len(self._learnt) < _FEWEST_LEARNT or steps < _FEWEST_LEARNT_STEPS:
            return
        values = [one.value for one in self._learnt]
        middle = median(values)
        self._spread = self._spread_of(values, middle=middle)
        if self._least is not None:
            middle = self._least if self._is_given else max(middle, self._least)
        self._center = middle

    def _moved(self, sign: int) -> list[_Block]:
        """Return the last blocks that are over the level (sign 1) or under it (-1) by more than noise; else none."""
        blocks = list(self._recent)
        count = _BLOCKS
        while count <= len(blocks):
            last = blocks[-count:]
            if not self._is_long_enough(last):
                count += 1
                continue
            if self._is_clear([sign * self._over(block) for block in last]):
                return last
            count *= 2
        return []

    def _is_clear(self, over: list[float]) -> bool:
        learnt = len(self._learnt)
        error = self._spread * (1 + _DOUBT / sqrt(learnt)) * sqrt(1 / len(over) + 1 / learnt)
        most = sorted(over)[(len(over) - _BLOCKS) // _BLOCKS]
        return fmean(over) > max(_LEAST * self._rise, _ERRORS * error) and most > _LEAST_OF_MOST * self._rise

    def _spread_of(self, values: list[float], *, middle: float) -> float:
        """Return the standard deviation of blocks; of few, at least what it was before and what their points tell."""
        between = _TO_SIGMA * median(abs(value - middle) for value in values)
        if len(values) >= _ENOUGH_FOR_SPREAD:
            return between
        return max(between, self._spread_before, _LASTING_NOISE * median(self._inside or [0.0]))

    def _over(self, block: _Block) -> float:
        return block.value - (self._center or 0.0)


def _typical(points: list[float]) -> float:
    """Return the mean without the highest point, where there are some."""
    in_order = sorted(points)
    return fmean(in_order[:-1] if len(points) >= _SOME else in_order)
