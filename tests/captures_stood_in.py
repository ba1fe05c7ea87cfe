"""Captures of a watch with nsys, its analysis, the training and the clock stood in for: all of a day in milliseconds."""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from step_times import BEGUN, S, rank_steps

from gapfinder.capture.nsys import Nsys
from gapfinder.training.step_stream import MarkSwitch
from gapfinder.watch import capturing, taking
from gapfinder.watch.capturing import Setting
from gapfinder.watch.judge import Judge
from gapfinder.watch.policy import CapturePolicy
from gapfinder.watch.taking import Captures

if TYPE_CHECKING:
    from gapfinder.watch.model import CaptureState, TriggerKind
    from gapfinder.watch.rules import Rules

STEP = S // 20


class Ended(NamedTuple):
    """A process that has ended."""

    returncode: int = 0
    pid: int = 0

    def poll(self) -> int:
        return self.returncode


def hanging() -> subprocess.Popen[bytes]:
    return subprocess.Popen(["/bin/sh", "-c", "sleep 60; true"], start_new_session=True)


@dataclass
class Session:
    """nsys: its commands end at once, but for those that are named here."""

    is_alive: bool = True
    commands: list[str] = field(default_factory=list)
    ends: dict[str, object] = field(default_factory=dict)
    report_bytes: int = 10
    _report: Path | None = None

    def start(self, report: Path):
        self._report = report
        return self._run("start")

    def stop(self):
        if self.report_bytes:
            self._report.write_bytes(b"r" * self.report_bytes)
        return self._run("stop")

    def cancel(self):
        return self._run("cancel")

    def last_words(self) -> str:
        return "the agent said no"

    def _run(self, command: str):
        self.commands.append(command)
        return self.ends.get(command, Ended())


class Watch:
    """A training of two ranks whose steps end when the test says, and everything that looks at it."""

    def __init__(self, folder: Path, monkeypatch, *, rules: Rules, **policy) -> None:
        self.now_ns, self._ended, self._number = BEGUN, BEGUN, 0
        self._ends: list[int] = []
        for module in (capturing, taking):
            monkeypatch.setattr(module, "time", self)
        monkeypatch.setattr(capturing, "start_examining", self._examine)
        self.session, self.analysis = Session(), Ended()
        switch = MarkSwitch(folder)
        switch.make()
        self._marks = folder / "marks"
        nsys = Nsys(path=Path("nsys"), version="2022.4.2.1")
        setting = Setting(folder=folder, nsys=nsys, session=self.session, switch=switch, steps=5, keeps_history=False)
        self.told: list[str] = []
        self.judge = Judge(rules)
        self.captures = Captures(
            self.judge,
            policy=CapturePolicy(**policy),
            setting=setting,
            tell=lambda text, _=None: self.told.append(text),
        )

    def time(self) -> float:
        return self.now_ns / S

    monotonic = time

    def monotonic_ns(self) -> int:
        return self.now_ns

    @property
    def are_marks_on(self) -> bool:
        return self._marks.read_bytes() == b"\1"

    def train(self, seconds: float, *, step_ns: int = STEP) -> Watch:
        """Let steps end, as long as that, and look after every fourth."""
        for _ in range(round(seconds * S / step_ns / 4)):
            first = len(self._ends)
            self._ends += [self.now_ns + (one + 1) * step_ns for one in range(4)]
            self.now_ns = self._ends[-1]
            self._look(first)
        return self

    def wait(self, seconds: float) -> Watch:
        """Let time pass in which no step ends."""
        for _ in range(round(seconds * 5)):
            self.now_ns += S // 5
            self._look(len(self._ends))
        return self

    def _look(self, first: int) -> None:
        ranks = [
            rank_steps(rank, self._ends, [STEP // 3] * len(self._ends), first, len(self._ends), pid=os.getpid())
            for rank in (0, 1)
        ]
        self.judge.see(ranks, now_ns=self.now_ns)
        self.captures.look(ranks, now_ns=self.now_ns)

    def _examine(self, task, **_: object):
        (Path(task.folder) / "examined.json").write_text(json.dumps({"headline": "found"}))
        return self.analysis

    @property
    def taken(self) -> list[tuple[TriggerKind, CaptureState]]:
        return [(one.trigger.kind, one.state) for one in self.captures.records]

    def refusals(self) -> list[str]:
        return [text for text in self.told if "no capture" in text]
