"""Takes the captures that a watch's judge asks for, one at a time, as far as its policy lets it."""

from __future__ import annotations

import stat
import time
from typing import TYPE_CHECKING, Protocol

from gapfinder.watch.capturing import CAPTURES, Capture
from gapfinder.watch.model import CaptureState, TriggerKind

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gapfinder.training.step_stream import RankSteps
    from gapfinder.watch.capturing import Setting
    from gapfinder.watch.judge import Judge
    from gapfinder.watch.model import CaptureRecord, Trigger
    from gapfinder.watch.policy import CapturePolicy

_LASTING = frozenset({TriggerKind.DRIFT, TriggerKind.LAG, TriggerKind.STALL, TriggerKind.HEALTHY})
"""What may be captured later as well, because it lasts: where there is no capture, it goes on asking for one."""


class _Tell(Protocol):
    def __call__(self, sentence: str, capture: int | None = None) -> None: ...


class Captures:
    """All captures of a watch.

    Attributes:
        records: of those that are over or under way.
    """

    def __init__(self, judge: Judge, *, policy: CapturePolicy, setting: Setting, tell: _Tell) -> None:
        self.records: tuple[CaptureRecord, ...] = ()
        self._judge, self._policy, self._setting, self._tell = judge, policy, setting, tell
        self._capture: Capture | None = None
        self._is_open = True
        self._refused: set[tuple[TriggerKind, int | None]] = set()

    @property
    def are_busy(self) -> bool:
        """Whether one is under way."""
        return self._capture is not None

    def close(self) -> None:
        """Let the one that is under way come to its end, and take no more."""
        self._is_open = False
        if self._capture is not None:
            self._capture.is_training = False

    def give_up(self) -> None:
        """End the one that is under way as it is."""
        if self._capture is not None:
            self._capture.give_up()

    def look(self, ranks: Sequence[RankSteps], *, now_ns: int) -> None:
        """Bring the capture forward that is under way, or begin the one that is asked for now."""
        if self._capture is not None:
            self._bring_forward(self._capture, ranks)
        elif self._is_open and self._setting.session.is_alive:
            trigger = self._judge.trigger(now_ns)
            if trigger is not None:
                self._begin(trigger)

    def _bring_forward(self, capture: Capture, ranks: Sequence[RankSteps]) -> None:
        was = capture.record.state
        capture.add(ranks)
        capture.look()
        self._keep(capture.record)
        if capture.record.state is not was and capture.record.state is CaptureState.ANALYSING:
            self._tell(f"{_steps_told(capture.record)}; analysing them", capture.record.number)
        if capture.is_over:
            self._finish(capture)

    def _begin(self, trigger: Trigger) -> None:
        refusal = self._policy.refusal(trigger, now_ns=time.monotonic_ns(), bytes_used=self._bytes_used())
        if refusal is not None:
            self._refuse(trigger, refusal)
            return
        healthy = next((one for one in self.records if _is_healthy(one)), None)
        number = len(self.records) + 1
        self._capture = Capture(trigger, number=number, setting=self._setting, healthy=healthy)
        self._judge.disturbed(self._capture.started_ns, None)
        self._keep(self._capture.record)
        self._tell(f"step {trigger.step}: {trigger.sentence}; capture {number} begins", number)

    def _refuse(self, trigger: Trigger, refusal: str) -> None:
        """Say why there is no capture: once until there is one, though what lasts is seen again at every look."""
        told = (trigger.kind, trigger.rank)
        if told not in self._refused:
            self._refused.add(told)
            self._tell(f"step {trigger.step}: {trigger.sentence}; {refusal}")
        if trigger.kind not in _LASTING:
            self._judge.after_capture(trigger)

    def _finish(self, capture: Capture) -> None:
        record = capture.record
        self._capture = None
        self._refused.clear()
        self._judge.disturbed(capture.started_ns, time.monotonic_ns())
        if capture.has_report or record.trigger.kind not in _LASTING:
            self._judge.after_capture(record.trigger)
        self._policy.taken(record.trigger, now_ns=time.monotonic_ns())
        if record.state is CaptureState.FAILED:
            self._tell(f"capture {record.number} failed: {record.trouble}", record.number)
            return
        told = [f"capture {record.number}: {record.headline}", *filter(None, [record.change, record.trouble])]
        self._tell("; ".join(told), record.number)

    def _keep(self, record: CaptureRecord) -> None:
        self.records = (*self.records[: record.number - 1], record)

    def _bytes_used(self) -> int:
        return sum(map(_size, (self._setting.folder / CAPTURES).rglob("*")))


def _is_healthy(record: CaptureRecord) -> bool:
    return record.trigger.kind is TriggerKind.HEALTHY and record.state is CaptureState.DONE


def _steps_told(record: CaptureRecord) -> str:
    if record.first_step is None or record.end_step is None:
        return f"capture {record.number} holds no whole step"
    return f"capture {record.number} holds steps {record.first_step} to {record.end_step - 1}"


def _size(path: Path) -> int:
    try:
        status = path.lstat()
    except OSError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
