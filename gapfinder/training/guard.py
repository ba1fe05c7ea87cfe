"""Leaves a flight log and a hot checkpoint when a training fails or is told to end, and lets it end as it would."""

from __future__ import annotations

import os
import sys
import time
import traceback
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Protocol, Self

from gapfinder.training.flight import FlightLog, thread_stacks
from gapfinder.training.ranks import own_ranks
from gapfinder.training.termination import Termination

if TYPE_CHECKING:
    from types import TracebackType

    from gapfinder.training.flight import Value


class HotSaver(Protocol):
    """What the guard needs of a checkpoint."""

    def step_done(self) -> int:
        """Count a step, and return how many are done."""

    def save_hot(self, *, reason: str, is_continued: bool) -> Path:
        """Save at once, without the other ranks."""

    def wait(self) -> None:
        """Wait for what is written in the background."""


def crash_guard(
    folder: Path | str, *, checkpoint: HotSaver | None = None, steps: int = 100, grace_s: float = 10.0
) -> CrashGuard:
    """Return a guard to put around the training loop, in a `with` statement.

    An exception leaves a flight log (the last steps, the stacks of all threads) in `folder`, and a hot checkpoint
    beside the planned ones; then it goes on. SIGTERM does the same once the step that is under way has ended, and the
    next start may go on from there; where no step ends within `grace_s`, as when another rank died, at once. Then the
    signal ends the process. What goes wrong meanwhile is said on stderr and hides nothing.

    Args:
        folder: of the flight logs; is made where it is not there.
        checkpoint: None for no hot checkpoint.
        steps: how many steps a flight log has.
        grace_s: less than the launcher waits before it kills; torchrun waits 30 s.
    """
    return CrashGuard(Path(folder), checkpoint=checkpoint, steps=steps, grace_s=grace_s)


class CrashGuard:
    """What `crash_guard` returns; call `step_done` at the end of every step."""

    def __init__(self, folder: Path, *, checkpoint: HotSaver | None, steps: int, grace_s: float) -> None:
        self._folder, self._checkpoint = folder, checkpoint
        self._flight = FlightLog(steps=steps)
        self._steps = 0
        self._writing = Lock()
        self._termination = Termination(grace_s=grace_s, too_late=self._too_late)

    def __enter__(self) -> Self:
        self._termination.watch()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if isinstance(error, (Exception, KeyboardInterrupt)):
            with self._writing:
                told = self._leave(
                    reason="".join(traceback.format_exception_only(error)).strip(),
                    error="".join(traceback.format_exception(error)),
                    is_continued=False,
                )
            error.add_note("\n".join(f"gapfinder: {line}" for line in told))
        is_terminated = self._termination.is_asked
        self._termination.forget()
        if is_terminated and error is None:  # the signal came after the last step
            self._termination.die()

    def step_done(self, **values: Value) -> int:
        """End a step, in place of the checkpoint's own `step_done`, and return how many are done.

        Args:
            values: what to keep of it in the flight log, such as the loss as a number.
        """
        self._steps = self._steps + 1 if self._checkpoint is None else self._checkpoint.step_done()
        self._flight.add(self._steps, values)
        if self._termination.is_asked:
            with self._writing:
                self._leave(reason="SIGTERM, at the end of a step", error="", is_continued=True)
                self._termination.forget()
                self._termination.die()
        return self._steps

    def _too_late(self) -> None:
        """No step ended in time: leave what can be left from the thread that waited for it."""
        if self._writing.acquire(blocking=False):  # else the main thread is at it
            self._leave(
                reason="SIGTERM, and no step ended in time: what is left may be of the middle of one",
                error="",
                is_continued=False,
            )
            self._termination.die_now()

    def _leave(self, *, reason: str, error: str, is_continued: bool) -> list[str]:
        """Write flight log and hot checkpoint; return, and say, what was left where."""
        told = [self._keep_flight(reason=reason, error=error)]
        if self._checkpoint is not None:
            told.append(_kept_states(self._checkpoint, reason=reason, is_continued=is_continued))
        sys.stderr.writelines(f"gapfinder: {line}\n" for line in told)
        sys.stderr.flush()
        return told

    def _keep_flight(self, *, reason: str, error: str) -> str:
        ranks = own_ranks()
        at = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
        path = self._folder / f"rank{ranks.rank}-{at}-{os.getpid()}.jsonl"
        threads = thread_stacks()
        lines = list(self._flight.lines(reason=reason, error=error, ranks=ranks, threads=threads))
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        except OSError as failed:
            sys.stderr.writelines(f"{line}\n" for line in threads)
            return f"no flight log, {path}: {failed.strerror}; the stacks are above"
        return f"flight log in {path}"


def _kept_states(checkpoint: HotSaver, *, reason: str, is_continued: bool) -> str:
    try:
        path = checkpoint.save_hot(reason=reason, is_continued=is_continued)
        checkpoint.wait()
    except BaseException as failed:  # noqa: BLE001 (whatever it is, it must not hide how the training ended)
        return f"no hot checkpoint, or not all of it: {type(failed).__name__}: {failed}"
    return f"hot checkpoint in {path}"
