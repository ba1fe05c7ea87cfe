"""Runs a training under nsys and watches over both: signals go to the training, and nsys has the time it needs."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from gapfinder.capture.chatter import Chatter
from gapfinder.capture.proc import agents_of, end_all, is_alive, training_process
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

FORWARDED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# nsys that shows no sign of life for so long after the training ended will not finish.
PATIENCE_S = 600.0
_GRACE_S = 30.0
_LOOK_S, _WATCH_S = 0.02, 0.25
_FIRST_WORD_S, _NEXT_WORD_S = 1.0, 15.0
_DRAIN_S = 2.0
_LEAVE_S = 1.0
_SIGNALLED = 128


@dataclass(frozen=True, kw_only=True, slots=True)
class Launched:
    """What came of it.

    Attributes:
        started_at: seconds since 1970.
        exit_code: the training's own, 128 + n where signal n ended it; None where nobody knows it.
        is_started: whether the training was seen to run.
        nsys_killed_by: the signal that ended nsys itself, before its time.
        signals: what was forwarded to the training, or waited for it to start.
        reports: the reports that nsys said it wrote.
        streams: the unfinished captures that nsys said it wrote; those it finished are gone.
    """

    started_at: float
    exit_code: int | None
    is_started: bool
    nsys_killed_by: signal.Signals | None
    signals: tuple[signal.Signals, ...]
    reports: tuple[Path, ...]
    streams: tuple[Path, ...]


def launch(
    words: Sequence[str],
    *,
    environment: Mapping[str, str],
    is_nsys: bool,
    tell: Callable[[str], None],
    patience_s: float = PATIENCE_S,
) -> Launched:
    """Run a command to its end, and return what came of it.

    Args:
        words: the command line, of nsys or of a launcher that runs nsys in each rank.
        environment: variables to set for it.
        is_nsys: whether the training is a child of what is run, or what is run itself.
        tell: says a sentence to the user at once.
        patience_s: how long nsys may be silent after the training has ended.
    """
    sys.stdout.flush()
    started_at = time.time()
    try:
        process = subprocess.Popen(  # noqa: S603 (the user's own training)
            words,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # else the terminal's Ctrl-C would reach nsys as well, and it would drop the code
        )
    except OSError as error:
        raise InputError(f"{words[0]} cannot be run: {error.strerror}") from error
    out, err = (_listen(stream, sink=sink) for stream, sink in ((process.stdout, 1), (process.stderr, 2)))
    watch = _Watch(process, is_nsys=is_nsys, tell=tell, heard=(out, err), patience_s=patience_s)
    with signals_to(watch.forward):
        code = watch.wait()
        killed_by = signal.Signals(-code) if is_nsys and code < 0 else None
        if killed_by is not None:
            watch.wait_for_orphan(killed_by)
    for chatter in (out, err):
        chatter.join(_DRAIN_S)
    is_started = watch.training is not None or bool(out.reports or out.streams)
    if not is_started:
        _end_agents(process.pid)
    return Launched(
        started_at=started_at,
        exit_code=None if killed_by else code if code >= 0 else _SIGNALLED - code,
        is_started=is_started,
        nsys_killed_by=killed_by,
        signals=tuple(watch.forwarded) or ((watch.waiting,) if watch.waiting else ()),
        reports=(*out.reports, *err.reports),
        streams=(*out.streams, *err.streams),
    )


def _end_agents(nsys: int) -> None:
    """End what an nsys that could not start has left; it calls its session profile-PROGRAM-PID."""

    def left() -> list[int]:
        return agents_of(lambda name: name.startswith("profile-") and name.endswith(f"-{nsys}"))

    end_all(left, patience_s=_LEAVE_S, grace_s=_LEAVE_S)


def _listen(stream: IO[bytes] | None, *, sink: int) -> Chatter:
    assert stream is not None  # noqa: S101 (it is a pipe: see Popen)
    chatter = Chatter(stream, sink=sink)
    chatter.start()
    return chatter


class _Watch:
    """Waits for a process, knows the training in it, and brings it the signals that reach us."""

    def __init__(
        self,
        process: subprocess.Popen[bytes],
        *,
        is_nsys: bool,
        tell: Callable[[str], None],
        heard: Sequence[Chatter],
        patience_s: float,
    ) -> None:
        self.training = None if is_nsys else process.pid
        self.forwarded: list[signal.Signals] = []
        self.waiting: signal.Signals | None = None
        self._process = process
        self._is_nsys = is_nsys
        self._tell = tell
        self._heard = heard
        self._patience_s = patience_s
        self._ended_at: float | None = None
        self._told_at = 0.0
        self._given_up_at: float | None = None
        self._asked = 0

    def wait(self) -> int:
        """Return the process's exit code; the one of a signal is negative."""
        while True:
            try:
                return self._process.wait(timeout=_LOOK_S if self.training is None else _WATCH_S)
            except subprocess.TimeoutExpired:
                self._look()

    def wait_for_orphan(self, killed_by: signal.Signals) -> None:
        """Wait for the training that nsys left behind; killing it is not ours to decide."""
        if self._trains():
            self._tell(f"nsys was ended by {killed_by.name}; the training goes on without it")
        while self._trains():
            time.sleep(_LOOK_S)

    def forward(self, number: int, _frame: object) -> None:
        """Pass a signal on: Ctrl-C once as it is, then as SIGTERM, then as SIGKILL; nsys itself is asked last."""
        received = signal.Signals(number)
        if self._trains():
            self._send(received)
        elif self._process.poll() is None:
            self._asked += 1
            if self._asked > 1:
                self._process.send_signal(signal.SIGTERM if self._asked == 2 else signal.SIGKILL)  # noqa: PLR2004
            elif self.training is None:
                self.waiting = received
                self._tell("the training has not started yet; Ctrl-C again ends nsys")
            else:
                self._tell("the training has ended and nsys is writing the report; Ctrl-C again gives the report up")

    def _send(self, received: signal.Signals) -> None:
        assert self.training is not None  # noqa: S101 (asked by forward)
        sent = as_sent(received, before=self.forwarded)
        self._tell(f"{sent.name} sent to the training; the report of what was captured follows")
        self.forwarded.append(sent)
        with suppress(ProcessLookupError):
            group = os.getpgid(self.training)
            # A terminal's Ctrl-C reaches the whole group; nsys must not be in it.
            if received is signal.SIGINT and (not self._is_nsys or group != os.getpgid(self._process.pid)):
                os.killpg(group, sent)
            else:
                os.kill(self.training, sent)

    def _trains(self) -> bool:
        return self.training is not None and is_alive(self.training)

    def _look(self) -> None:
        if self.training is None:
            self.training = training_process(self._process.pid)
            if self.training is not None and self.waiting is not None:
                self._send(self.waiting)
                self._asked = 0
        elif self._is_nsys and not self._trains():
            self._watch_the_end(time.monotonic())

    def _watch_the_end(self, now: float) -> None:
        """Say that nsys is still writing, and end it when it shows no sign of life for too long."""
        self._ended_at = self._ended_at or now
        writing_s = now - self._ended_at
        if writing_s > _FIRST_WORD_S and (not self._told_at or now - self._told_at > _NEXT_WORD_S):
            self._told_at = now
            self._tell(f"nsys is writing the report ({writing_s:.0f} s)")
        silent_s = now - max(self._ended_at, *(chatter.last_heard for chatter in self._heard))
        if self._given_up_at is None and silent_s > self._patience_s:
            self._given_up_at = now
            self._tell(f"nsys has been silent for {silent_s:.0f} s since the training ended; ending it")
            self._process.terminate()
        elif self._given_up_at is not None and now - self._given_up_at > _GRACE_S:
            self._process.kill()


def as_sent(received: signal.Signals, *, before: Sequence[signal.Signals]) -> signal.Signals:
    """Return what a training is sent for a signal that reaches us: each Ctrl-C after what was sent before is harder."""
    harder = (signal.SIGINT, signal.SIGTERM, signal.SIGKILL)
    times = before.count(signal.SIGINT) + before.count(signal.SIGTERM)
    return harder[min(times, 2)] if received is signal.SIGINT else received


@contextmanager
def signals_to(handler: Callable[[int, object], None]) -> Iterator[None]:
    """Let `handler` have the signals that would end us; a reader of our output that stops early ends nothing."""
    # what is ignored (nohup) stays ignored, in the training as well
    heeded = [number for number in FORWARDED if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heeded}
    before[signal.SIGPIPE] = signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    try:
        yield
    finally:
        for number, old in before.items():
            signal.signal(number, old)
