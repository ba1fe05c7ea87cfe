"""The step times of one rank: gathered over half a second, and held against what is usual for it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from math import exp, log
from statistics import fmean, median
from typing import TYPE_CHECKING

from gapfinder.watch.levels import Level

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.training.step_stream import RankSteps, Step
    from gapfinder.watch.spans import Spans

_GATHER_NS = 500_000_000  # many short steps become one value; a long step is one by itself
_RECENT = 3
_KEPT = 2_048
_ONE_IN, _SOME = 10, 4
_NOTICEABLE_SHARE = 0.05  # of the step: how much a lag must cost


@dataclass(frozen=True, kw_only=True, slots=True)
class Sustained:
    """How large a change must be, and for how long it must last."""

    drift: float
    lag: float
    steps: int
    ns: int

    def level(self, rise: float, *, least: float | None = None) -> Level:
        """Return a level with this patience; `rise` is a ratio above 0."""
        return Level(log(1 + rise), sustained_ns=self.ns, sustained_steps=self.steps, least=least)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gathered:
    """Half a second of steps, or one long step.

    Attributes:
        step_ns, apart_ns: the typical step, and its time outside backward.
        steps: how many there were.
        spent_ns: how long they took together.
    """

    step_ns: float
    apart_ns: float
    steps: int
    spent_ns: int


class RankLevels:
    """What is known of one process of a rank."""

    def __init__(self, first: RankSteps, *, sustained: Sustained, skip: int) -> None:
        self.rank = first.rank
        self.pid = first.pid
        self.begun_at_ns = first.begun_at_ns
        self.step_level = sustained.level(sustained.drift)
        self.lag_level = sustained.level(sustained.lag, least=0.0)
        self.last: Step | None = None
        self.total = 0  # steps that have ended, of which the last few may have no times yet
        self.durations: deque[int] = deque(maxlen=_KEPT)
        self.longest_ns = 0
        self.lowest_ns: float | None = None
        self._lag_per_share = sustained.lag / _NOTICEABLE_SHARE
        self._skip = skip
        self._recent: deque[float] = deque(maxlen=_RECENT)
        self._recent_steps: deque[float] = deque(maxlen=_RECENT)
        self._others_ns: float | None = None
        self._gathered: list[Step] = []
        self._gathered_ns = 0

    @property
    def usual_ns(self) -> float | None:
        """The step time that is usual; None while it is being learnt."""
        center = self.step_level.center
        return None if center is None else exp(center)

    @property
    def heard_at_ns(self) -> int:
        """When its last step ended, or it began."""
        return self.last.ended_at_ns if self.last else self.begun_at_ns

    @property
    def apart_ns(self) -> float | None:
        """The median time outside backward of the last few steps; None without any."""
        return median(self._recent) if self._recent else None

    @property
    def others_ns(self) -> int:
        """That of the other ranks, when it was last held against them."""
        return round(self._others_ns or 0.0)

    @property
    def is_usual(self) -> bool:
        """Whether the last steps are as usual, and what is usual is no slower than it has been."""
        usual = self.usual_ns
        is_alone = self._others_ns is None
        if usual is None or self.lowest_ns is None or not (is_alone or self.lag_level.center == 0.0):
            return False
        is_quiet = not self.step_level.is_rising and not self.lag_level.is_rising
        return is_quiet and usual <= self.lowest_ns * 1.1

    def learn_steps_anew(self) -> None:
        """Take the step times that come next as usual."""
        self._drop()
        self.step_level.learn_anew()

    def learn_anew(self) -> None:
        """Take what comes next as usual, a lag included."""
        self.learn_steps_anew()
        self.lag_level.learn_anew()

    def see(self, steps: tuple[Step, ...], *, spans: Spans) -> Iterator[Gathered]:
        """Take in steps; yield what each half second that they fill has gathered."""
        self.last = steps[-1]
        is_calm = not spans.touch(steps[0].ended_at_ns - (steps[0].duration_ns or 0), steps[-1].ended_at_ns)
        for step in steps:
            duration = step.duration_ns
            if duration is None or step.number < self._skip:
                continue
            if not is_calm and spans.touch(step.ended_at_ns - duration, step.ended_at_ns):
                self._drop()
                continue
            self._gathered.append(step)
            self._gathered_ns += duration
            if self._gathered_ns >= _GATHER_NS:
                yield self._take()

    def hold_against(self, others_ns: float | None, gathered: Gathered) -> None:
        """Judge what `see` yielded; `others_ns` is the time outside backward of the others, None without any."""
        self.step_level.add(log(max(gathered.step_ns, 1.0)), steps=gathered.steps, spent_ns=gathered.spent_ns)
        usual = self.usual_ns
        if usual is not None:
            self.lowest_ns = usual if self.lowest_ns is None else min(usual, self.lowest_ns)
        if others_ns is None:
            return
        self._others_ns = others_ns
        over = gathered.apart_ns - others_ns
        share = min(over / max(others_ns, 1.0), self._lag_per_share * over / max(median(self._recent_steps), 1.0))
        self.lag_level.add(log(1 + max(share, -0.9)), steps=gathered.steps, spent_ns=gathered.spent_ns)

    def _take(self) -> Gathered:
        durations = [step.duration_ns or 0 for step in self._gathered]
        gathered = Gathered(
            step_ns=_typical(durations),
            apart_ns=_typical([step.apart_ns for step in self._gathered]),
            steps=len(durations),
            spent_ns=self._gathered_ns,
        )
        self.durations.extend(durations)
        self.longest_ns = max(self.longest_ns, *durations)
        self._recent_steps.append(gathered.step_ns)
        self._recent.append(gathered.apart_ns)
        self._drop()
        return gathered

    def _drop(self) -> None:
        self._gathered = []
        self._gathered_ns = 0


def _typical(times: list[int]) -> float:
    """Return the mean without the longest tenth, where there are some: a third of a median's noise if all are alike."""
    in_order = sorted(times)
    left_out = -(-len(times) // _ONE_IN) if len(times) >= _SOME else 0
    return fmean(in_order[: len(times) - left_out])
