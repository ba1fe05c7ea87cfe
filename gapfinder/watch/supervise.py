"""A watch from beginning to end: it stays beside a training, reads its step times, and captures when it matters."""

from __future__ import annotations

import os
import shutil
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING

from gapfinder.capture.folder import STATUS_FOLDER, new_run_folder
from gapfinder.capture.launch import signals_to
from gapfinder.capture.proc import is_alive
from gapfinder.capture.space import check_space, expected_need
from gapfinder.errors import InputError
from gapfinder.training.environment import hook_environment
from gapfinder.training.step_stream import MarkSwitch, StepReader
from gapfinder.watch.asking import is_asked
from gapfinder.watch.capturing import Setting
from gapfinder.watch.judge import Judge
from gapfinder.watch.model import Event, WatchState
from gapfinder.watch.record import Record
from gapfinder.watch.restarts import Restarts
from gapfinder.watch.session import NSYS_LOG, open_session
from gapfinder.watch.taking import Captures
from gapfinder.watch.times import Times
from gapfinder.watch.training import Training

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from gapfinder.capture.nsys import Nsys
    from gapfinder.training.step_stream import RankSteps
    from gapfinder.watch.nsys_options import SessionOptions
    from gapfinder.watch.policy import CapturePolicy
    from gapfinder.watch.rules import Rules
    from gapfinder.watch.times import Totals

STEPS_FOLDER = "steps"
_LOOK_S = 0.2
_RECORD_S = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchRequest:
    """What a user wants to be watched.

    Attributes:
        training: the command line of the training.
        name: what the folder is named after.
        capture_steps: how many steps a capture is to have.
        options: for nsys.
        keeps_history: whether captures are stored there.
    """

    training: tuple[str, ...]
    name: str
    rules: Rules
    policy: CapturePolicy
    capture_steps: int
    options: SessionOptions
    keeps_history: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Watched:
    """What came of it.

    Attributes:
        exit_code: the training's own, 128 + n where signal n ended it.
        totals: of all its steps.
    """

    folder: Path
    exit_code: int
    state: WatchState
    totals: Totals


def watch_training(request: WatchRequest, *, nsys: Nsys, output: Path | None, tell: Callable[[str], None]) -> Watched:
    """Run a training, watch it to its end, and return what came of it.

    Args:
        request: what to watch, and how.
        nsys: with which nsys.
        output: the folder for all of it; None for a new one under gapfinder-runs.
        tell: says a sentence to the user at once.

    Raises:
        InputError: the folder cannot be made, or the training not be started.
        NsysError: nsys cannot open a session; then the training was not started.
    """
    folder = new_run_folder(output, name=f"watch-{request.name}", now=datetime.now().astimezone()).absolute()
    try:
        for warning in check_space(folder, need=expected_need(ranks=1, steps=request.capture_steps)):
            tell(warning)
        switch, given = _prepared(folder)
        session = open_session(nsys, options=request.options, log=folder / NSYS_LOG, environment=given)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)  # nothing has run, and nothing is in it
        raise
    setting = Setting(
        folder=folder,
        nsys=nsys,
        session=session,
        switch=switch,
        steps=request.capture_steps,
        keeps_history=request.keeps_history,
    )
    try:
        training = Training(request.training, environment={**given, **session.environment}, tell=tell)
        with signals_to(training.forward):
            try:
                watch = _Watch(request, training=training, setting=setting, tell=tell)
                code = watch.follow()
            finally:  # what goes wrong with watching is not the training's business
                while training.exit_code(wait_s=_LOOK_S) is None:
                    pass
    finally:
        session.close()
    return Watched(folder=folder, exit_code=code, state=watch.state, totals=watch.times.totals)


def _prepared(folder: Path) -> tuple[MarkSwitch, dict[str, str]]:
    """Make what the hook needs; return the switch of its marks, and the environment that loads it."""
    steps = folder / STEPS_FOLDER
    switch = MarkSwitch(steps)
    try:
        steps.mkdir()
        switch.make()
    except OSError as error:
        raise InputError(f"cannot write into {folder}: {error.strerror}") from error
    hook = hook_environment(
        window=None, status_folder=folder / STATUS_FOLDER, environment=os.environ, watch_folder=steps
    )
    return switch, {**os.environ, **hook}


class _Watch:
    """Looks at a training several times a second.

    Attributes:
        state: what is known so far.
        times: of its steps.
    """

    def __init__(
        self, request: WatchRequest, *, training: Training, setting: Setting, tell: Callable[[str], None]
    ) -> None:
        self.state = WatchState(
            name=request.name,
            command=request.training,
            host=socket.gethostname(),
            pid=os.getpid(),
            started_at=time.time(),
        )
        self.times = Times()
        self._training, self._setting, self._say = training, setting, tell
        self._record = Record(setting.folder, report=tell)
        self._reader = StepReader(setting.folder / STEPS_FOLDER)
        self._judge = Judge(request.rules)
        self._restarts = Restarts()
        self._captures = Captures(self._judge, policy=request.policy, setting=setting, tell=self._tell)
        self._recorded_at = time.monotonic()
        self._record.write_state(self.state)
        self._is_session_alive = True
        self._usual_ns: int | None = None

    def follow(self) -> int:
        """Look until the training has ended and its last capture is done; return the exit code."""
        while (code := self._training.exit_code(wait_s=_LOOK_S)) is None:
            self._look()
        self._see()  # what ended since the last look
        self._captures.close()
        if self._captures.are_busy:
            self._say("the training has ended; the last capture is being analysed, Ctrl-C gives it up")
        while self._captures.are_busy:
            if self._training.times_given_up:
                self._captures.give_up()
            time.sleep(_LOOK_S)
            self._look()
        self._note(ended_at=time.time(), training_exit_code=code, usual_ns=self._usual_ns)
        self._write_times()
        with suppress(OSError):
            self._reader.close()
        return code

    def _see(self) -> tuple[tuple[RankSteps, ...], int]:
        """Take in what is new of the training; return it, and when that was."""
        ranks = self._running(self._reader.poll())
        now_ns = time.monotonic_ns()
        self.times.add(ranks, is_disturbed=self._captures.are_busy)
        self._judge.see(ranks, now_ns=now_ns)
        if ranks:  # once all have ended, what was usual is what they leave
            self._usual_ns = self._judge.usual_ns
        if (restart := self._restarts.see(ranks)) is not None:
            self._tell(restart)
        return ranks, now_ns

    def _look(self) -> None:
        ranks, now_ns = self._see()
        if is_asked(self._setting.folder):
            self._judge.ask()
        if self._is_session_alive and not self._setting.session.is_alive:
            self._is_session_alive = False
            self._tell("nsys has ended; the training goes on, and its step times are recorded, but no captures taken")
        self._captures.look(ranks, now_ns=now_ns)
        if self._captures.records != self.state.captures:
            self._note(captures=self._captures.records, usual_ns=self._usual_ns)
        if time.monotonic() - self._recorded_at >= _RECORD_S:
            self._note(usual_ns=self._usual_ns)
            self._write_times()

    def _running(self, ranks: tuple[RankSteps, ...]) -> tuple[RankSteps, ...]:
        """Leave out processes that have ended, once their last steps are known."""
        return tuple(rank for rank in ranks if rank.steps or rank.host != self.state.host or is_alive(rank.pid))

    def _write_times(self) -> None:
        self._recorded_at = time.monotonic()
        self._record.add_times(self.times.take_rows(at=time.time()))

    def _note(self, **known: object) -> None:
        state = replace(self.state, **known)  # type: ignore[arg-type]
        if state != self.state:
            self.state = state
            self._record.write_state(state)

    def _tell(self, sentence: str, capture: int | None = None) -> None:
        """Say what happened, and record it."""
        self._say(sentence)
        self._record.add_event(Event(at=time.time(), text=sentence, capture=capture))
