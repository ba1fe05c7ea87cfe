"""Decides from step times when a capture is worth its cost."""

from __future__ import annotations

from bisect import bisect_right
from statistics import median
from typing import TYPE_CHECKING

from gapfinder.units import NS_PER_S
from gapfinder.watch import reasons
from gapfinder.watch.model import Trigger, TriggerKind
from gapfinder.watch.rank_levels import RankLevels, Sustained
from gapfinder.watch.spans import Spans
from gapfinder.watch.stalls import stall

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.training.step_stream import RankSteps
    from gapfinder.watch.rules import Rules

_FAULTS = (TriggerKind.DRIFT, TriggerKind.LAG)
_PATIENCE_NS = 3 * NS_PER_S
_PATIENCE_STEPS = 3


class Judge:
    """Holds step times against what is usual; it has no clock of its own: all times are those of CLOCK_MONOTONIC."""

    def __init__(self, rules: Rules) -> None:
        self._rules = rules
        self._sustained = Sustained(
            drift=rules.drift,
            lag=rules.lag,
            steps=rules.sustained_steps,
            ns=rules.sustained_ns,
        )
        self._ranks: dict[int, RankLevels] = {}
        self._present: list[RankLevels] = []
        self._spans = Spans()
        self._at_steps = sorted(set(rules.at_steps))
        self._now_ns = 0
        self._due_ns: int | None = None
        self._is_asked = False
        self._is_healthy_taken = rules.healthy_at is None
        self._stalled_at: dict[int, int] = {}
        self._drifts_since_ns: int | None = None

    @property
    def usual_ns(self) -> int | None:
        """The step time that later ones are held against; None while it is being learnt."""
        known = [usual for rank in self._present if (usual := rank.usual_ns) is not None]
        return round(median(known)) if known else None

    def see(self, ranks: Sequence[RankSteps], *, now_ns: int) -> None:
        """Take in what is new of every process that still runs; of two of one rank the later one counts."""
        self._now_ns = now_ns
        if self._due_ns is None and self._rules.every_ns is not None:
            self._due_ns = now_ns + self._rules.every_ns
        latest: dict[int, RankSteps] = {}
        for steps in sorted(ranks, key=lambda one: one.begun_at_ns):
            latest[steps.rank] = steps
        self._present = [self._process(steps) for steps in latest.values()]
        for rank, steps in zip(self._present, latest.values(), strict=True):
            rank.total = steps.total
            if steps.steps:
                self._stalled_at.pop(rank.rank, None)
                for gathered in rank.see(steps.steps, spans=self._spans):
                    rank.hold_against(self._others_ns(rank), gathered)

    def ask(self) -> None:
        """Have the next trigger be one that was asked for."""
        self._is_asked = True

    def trigger(self, now_ns: int) -> Trigger | None:
        """Return what asks for a capture now; the same again until it has passed, or `after_capture` is told of it."""
        self._now_ns = now_ns
        if self._is_asked:
            return Trigger(kind=TriggerKind.ASKED, step=self._step, sentence="somebody asked for a capture")
        return self._stall() or self._lag() or self._drift() or self._planned()

    def disturbed(self, start_ns: int, end_ns: int | None) -> None:
        """Judge nobody by steps that touch this span; without an end it goes on until it is told with one."""
        self._spans.put(start_ns, end_ns)

    def after_capture(self, trigger: Trigger) -> None:
        """Make what asked for the capture that has been taken the usual state: one capture for one fault."""
        if trigger.kind in _FAULTS:
            self._drifts_since_ns = None
            for rank in self._ranks.values():
                # of a drift, steps alone: a rank may have begun to lag in the meantime
                rank.learn_anew() if trigger.kind is TriggerKind.LAG else rank.learn_steps_anew()
        elif trigger.kind is TriggerKind.STALL:
            self._stalled_at = {rank.rank: self._now_ns for rank in self._present}
        elif trigger.kind is TriggerKind.ASKED:
            self._is_asked = False
        elif trigger.kind is TriggerKind.HEALTHY:
            self._is_healthy_taken = True
        elif trigger.kind is TriggerKind.STEP:
            del self._at_steps[: bisect_right(self._at_steps, trigger.step + 1)]
        elif self._rules.every_ns is not None:
            self._due_ns = self._now_ns + self._rules.every_ns

    @property
    def _step(self) -> int:
        """The last step that has ended on all ranks; 0 before the first."""
        return min((rank.last.number if rank.last else 0 for rank in self._running()), default=0)

    def _running(self) -> list[RankLevels]:
        """Return the ranks, without those that ended before torchrun started the others again."""
        begun = max((rank.begun_at_ns for rank in self._present), default=0)
        return [rank for rank in self._present if rank.heard_at_ns >= begun]

    def _process(self, steps: RankSteps) -> RankLevels:
        known = self._ranks.get(steps.rank)
        if known is None or (known.pid, known.begun_at_ns) != (steps.pid, steps.begun_at_ns):
            known = self._ranks[steps.rank] = RankLevels(steps, sustained=self._sustained, skip=self._rules.skip)
            self._stalled_at.pop(steps.rank, None)
        return known

    def _others_ns(self, rank: RankLevels) -> float | None:
        """Return the median time outside backward of the other ranks, with the last few steps of each."""
        times = [apart for other in self._running() if other is not rank and (apart := other.apart_ns) is not None]
        return median(times) if times else None

    def _stall(self) -> Trigger | None:
        if self._spans.is_open:
            return None
        waiting = [rank for rank in self._running() if rank.rank not in self._stalled_at]
        since = self._spans.last_end_ns()
        return stall(waiting, rules=self._rules, calm_since_ns=since, now_ns=self._now_ns, step=self._step)

    def _lag(self) -> Trigger | None:
        lagging = [rank for rank in self._running() if rank.lag_level.has_risen]
        if not lagging:
            return None
        return reasons.lag(max(lagging, key=lambda rank: rank.lag_level.now or 0.0), step=self._step)

    def _drift(self) -> Trigger | None:
        """Return a drift of most ranks; not while one of them may lag, which would say more."""
        running = [rank for rank in self._running() if rank.usual_ns is not None]
        slower = [rank for rank in running if rank.step_level.has_risen]
        if not slower or 2 * len(slower) <= len(running):
            self._drifts_since_ns = None
            return None
        if self._drifts_since_ns is None:
            self._drifts_since_ns = self._now_ns
        patience = max(_PATIENCE_NS, _PATIENCE_STEPS * (self.usual_ns or 0))
        may_lag = any(rank.lag_level.is_rising for rank in running)
        if may_lag and self._now_ns - self._drifts_since_ns < patience:
            return None
        return reasons.drift(slower, step=self._step)

    def _planned(self) -> Trigger | None:
        running, step = self._running(), self._step
        if not running or any(rank.last is None for rank in running):
            return None
        if self._at_steps and step + 1 >= self._at_steps[0]:
            sentence = f"step {self._at_steps[0]} was to be captured"
            return Trigger(kind=TriggerKind.STEP, step=step, sentence=sentence)
        healthy_at = self._rules.healthy_at
        is_due = not self._is_healthy_taken and healthy_at is not None and step + 1 >= healthy_at
        if is_due and all(rank.is_usual for rank in running):
            return reasons.healthy(usual_ns=self.usual_ns, step=step)
        if self._due_ns is not None and self._now_ns >= self._due_ns:
            return reasons.schedule(every_ns=self._rules.every_ns or 0, step=step)
        return None
