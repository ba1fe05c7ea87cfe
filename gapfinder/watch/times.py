"""Step times of every rank: rows of the last few seconds for the record, and totals of the whole watch."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from math import ceil, exp, log
from typing import TYPE_CHECKING

from gapfinder.training.step_timer import percentile
from gapfinder.watch.model import TimesRow

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.training.step_stream import RankSteps, Step

_WIDTH = 0.01  # of a class of the totals, as a difference of logarithms: a percentile is right to 1 %


@dataclass(kw_only=True, slots=True)
class Totals:
    """All step times of a watch, in little memory however long it was.

    Attributes:
        steps: how many, over all ranks.
        last: the number of the last one; None before the first.
    """

    steps: int = 0
    last: int | None = None
    _sum_ns: int = 0
    _classes: Counter[int] = field(default_factory=Counter)

    def add(self, duration_ns: int) -> None:
        """Count a step."""
        self.steps += 1
        self._sum_ns += duration_ns
        self._classes[round(log(max(duration_ns, 1)) / _WIDTH)] += 1

    @property
    def mean_ns(self) -> int | None:
        """The mean; None without steps."""
        return round(self._sum_ns / self.steps) if self.steps else None

    def percentile_ns(self, percent: int) -> int | None:
        """Return a percentile, to 1 %; None without steps."""
        left = ceil(self.steps * percent / 100)
        for place in sorted(self._classes):
            left -= self._classes[place]
            if left <= 0:
                return round(exp(place * _WIDTH))
        return None


class Times:
    """Gathers step times for the record.

    Attributes:
        totals: of all ranks since the start.
    """

    def __init__(self) -> None:
        self.totals = Totals()
        self._steps: dict[int, list[Step]] = {}
        self._is_disturbed = False

    def add(self, ranks: Sequence[RankSteps], *, is_disturbed: bool) -> None:
        """Take in what is new."""
        self._is_disturbed = self._is_disturbed or is_disturbed
        for rank in ranks:
            for step in rank.steps:
                self.totals.last = step.number if self.totals.last is None else max(self.totals.last, step.number)
                if step.duration_ns is not None:
                    self.totals.add(step.duration_ns)
                    self._steps.setdefault(rank.rank, []).append(step)

    def take_rows(self, *, at: float) -> tuple[TimesRow, ...]:
        """Return a row for each rank that had steps since the last call."""
        rows = tuple(
            _row(rank, steps, at=at, is_disturbed=self._is_disturbed) for rank, steps in sorted(self._steps.items())
        )
        self._steps, self._is_disturbed = {}, False
        return rows


def whole_steps(steps: Sequence[Step], *, start_ns: int, end_ns: int) -> tuple[Step, ...]:
    """Return the steps that began and ended in [start, end)."""
    return tuple(
        step
        for step in steps
        if step.duration_ns is not None
        and step.ended_at_ns - step.duration_ns >= start_ns
        and step.ended_at_ns < end_ns
    )


def _row(rank: int, steps: Sequence[Step], *, at: float, is_disturbed: bool) -> TimesRow:
    durations = sorted(step.duration_ns or 0 for step in steps)
    apart = sorted(step.apart_ns for step in steps)
    return TimesRow(
        at=at,
        rank=rank,
        step=steps[-1].number,
        steps=len(steps),
        mean_ns=round(sum(durations) / len(durations)),
        p50_ns=percentile(durations, 50),
        p99_ns=percentile(durations, 99),
        longest_ns=durations[-1],
        apart_ns=percentile(apart, 50),
        is_disturbed=is_disturbed,
    )
