"""One capture of a watch: from the trigger to what is found in the report, while the training runs."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gapfinder.capture.proc import is_alive
from gapfinder.errors import NsysError
from gapfinder.units import NS_PER_S, format_duration
from gapfinder.watch.examine import REPORT, Task, read_examined, start_examining
from gapfinder.watch.model import CaptureRecord, CaptureState, TriggerKind
from gapfinder.watch.times import whole_steps

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Sequence
    from pathlib import Path

    from gapfinder.capture.nsys import Nsys
    from gapfinder.training.step_stream import MarkSwitch, RankSteps, Step
    from gapfinder.watch.model import Trigger
    from gapfinder.watch.session import NsysSession

CAPTURES = "captures"
WATCH_LOG = "watch.log"
_ANALYSIS = "the analysis"
_START_S, _STOP_S, _EXAMINE_S = 60.0, 900.0, 1800.0
_STALL_S = 15.0  # of a stall, when no step may end: what stands still shows at once
_LEAST_S, _TIMES_USUAL = 60.0, 4
_KILLED_S = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Setting:
    """What all captures of a watch have in common.

    Attributes:
        folder: of the watch.
        steps: how many whole steps of every rank a capture is to have.
        keeps_history: whether what was measured is stored there.
    """

    folder: Path
    nsys: Nsys
    session: NsysSession
    switch: MarkSwitch
    steps: int
    keeps_history: bool


class Capture:
    """A capture that is under way; `look` brings it forward, and never waits.

    Attributes:
        record: what is known of it.
        started_ns: on CLOCK_MONOTONIC; from then on it disturbs the training.
        is_over: whether it is done, or has failed.
        has_report: whether nsys wrote one, whatever became of its analysis.
        is_training: whether the training still runs; where it does not, a capture closes.
    """

    def __init__(self, trigger: Trigger, *, number: int, setting: Setting, healthy: CaptureRecord | None) -> None:
        self._setting, self._healthy = setting, healthy
        self._folder = setting.folder / CAPTURES / f"{number:03}"
        self.record = CaptureRecord(
            number=number,
            trigger=trigger,
            state=CaptureState.CAPTURING,
            started_at=time.time(),
            folder=str(self._folder.relative_to(setting.folder)),
        )
        self.started_ns = time.monotonic_ns()
        self.is_over = self.has_report = False
        self.is_training = True
        self._process: subprocess.Popen[bytes] | None = None
        self._steps: dict[tuple[int, int], list[Step]] = {}
        self._course = self._run()

    def add(self, ranks: Sequence[RankSteps]) -> None:
        """Take in the steps that ended since the last call."""
        for rank in ranks:
            self._steps.setdefault((rank.rank, rank.pid), []).extend(rank.steps)

    def look(self) -> None:
        """Bring it forward as far as is possible now."""
        try:
            next(self._course)
        except StopIteration:
            self.is_over = True
        except (NsysError, OSError) as error:
            self._fail(str(error))

    def give_up(self) -> None:
        """End it as it is."""
        self._fail("it was given up")

    def _run(self) -> Generator[None]:
        """Take the capture, and yield whenever there is nothing to do but to wait."""
        self._folder.mkdir(parents=True)
        self._setting.switch.turn_on()
        yield from self._started()
        open_ns = time.monotonic_ns()
        limit_ns = self._limit_ns()
        while self.is_training and not self._has_enough(open_ns) and time.monotonic_ns() - open_ns < limit_ns:
            yield
        close_ns = time.monotonic_ns()
        self._setting.switch.turn_off()
        yield from self._done(self._setting.session.stop(), what="nsys stop", limit_s=_STOP_S)
        if not (self._folder / REPORT).is_file():
            raise NsysError(f"nsys wrote no report: {self._setting.session.last_words()}")
        self.has_report = True
        first, end = self._whole(open_ns, close_ns)
        self.record = replace(self.record, state=CaptureState.ANALYSING, first_step=first, end_step=end)
        examining = start_examining(self._task(), log=self._setting.folder / WATCH_LOG)
        yield from self._done(examining, what=_ANALYSIS, limit_s=_EXAMINE_S)
        self._examined()

    def _started(self) -> Generator[None]:
        session = self._setting.session
        try:
            yield from self._done(session.start(self._folder / REPORT), what="nsys start", limit_s=_START_S)
        except NsysError:
            # it may have begun all the same, and nobody would end it
            with suppress(NsysError):
                yield from self._done(session.cancel(), what="nsys cancel", limit_s=_START_S)
            raise

    def _limit_ns(self) -> float:
        """Return how long to wait for the steps."""
        trigger = self.record.trigger
        if trigger.kind is TriggerKind.STALL:
            return _STALL_S * NS_PER_S
        usual_ns = self._setting.steps * max(trigger.before_ns or 0, trigger.now_ns or 0)
        return max(_LEAST_S * NS_PER_S, _TIMES_USUAL * usual_ns)

    def _done(self, process: subprocess.Popen[bytes], *, what: str, limit_s: float) -> Iterator[None]:
        """Wait for a process; raises NsysError where it fails or takes too long, and then ends it."""
        self._process = process
        deadline = time.monotonic() + limit_s
        while process.poll() is None:
            if time.monotonic() > deadline:
                _end(process)
                raise NsysError(
                    f"{what} took longer than {format_duration(round(limit_s * NS_PER_S))}; {self._advice(what)}"
                )
            yield
        if process.returncode:
            raise NsysError(f"{what} {_ending(process.returncode)}; {self._advice(what)}")

    def _advice(self, what: str) -> str:
        if what == _ANALYSIS:
            return f"{WATCH_LOG} may say why, and `gapfinder analyze {self.record.folder}/{REPORT}` tries again"
        return f"nsys said last: {self._setting.session.last_words()}"

    def _has_enough(self, open_ns: int) -> bool:
        """Say whether every process that still trains has its whole steps in the capture."""
        training = [steps for (_, pid), steps in self._steps.items() if is_alive(pid)]
        now_ns = time.monotonic_ns()
        counts = [len(whole_steps(steps, start_ns=open_ns, end_ns=now_ns)) for steps in training]
        return bool(counts) and min(counts) >= self._setting.steps

    def _whole(self, open_ns: int, close_ns: int) -> tuple[int | None, int | None]:
        """Return the first and the end of the steps that lie in the capture as a whole, on the lowest rank here."""
        lowest = min((rank for rank, _ in self._steps), default=None)
        of_lowest = [steps for (rank, _), steps in self._steps.items() if rank == lowest]
        # more than one process where the training was started again meanwhile
        wholes = (whole_steps(steps, start_ns=open_ns, end_ns=close_ns) for steps in of_lowest)
        inside = max(wholes, key=len, default=())
        return (inside[0].number, inside[-1].number + 1) if inside else (None, None)

    def _task(self) -> Task:
        healthy = self._healthy
        label = f"{self._setting.folder.name}: {self.record.trigger.kind} at step {self.record.trigger.step}"
        return Task(
            folder=str(self._folder),
            nsys=(str(self._setting.nsys.path), self._setting.nsys.version),
            steps=_steps(self.record),
            healthy=None if healthy is None else (str(self._setting.folder / healthy.folder), _steps(healthy)),
            label=label if self._setting.keeps_history else None,
            is_lag=self.record.trigger.kind is TriggerKind.LAG,
        )

    def _examined(self) -> None:
        found = read_examined(self._folder)
        self.record = replace(
            self.record,
            state=CaptureState.FAILED if found.headline is None else CaptureState.DONE,
            ended_at=time.time(),
            headline=found.headline,
            change=found.change,
            trouble=found.trouble,
        )

    def _fail(self, trouble: str) -> None:
        self._course.close()
        if self._process is not None:
            _end(self._process)
        with suppress(OSError):
            self._setting.switch.turn_off()
        self.record = replace(self.record, state=CaptureState.FAILED, ended_at=time.time(), trouble=trouble)
        self.is_over = True


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kill a process with all that it has started: it leads a session of its own."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_KILLED_S)


def _ending(code: int) -> str:
    return f"failed with exit code {code}" if code > 0 else f"was ended by {signal.Signals(-code).name}"


def _steps(record: CaptureRecord) -> tuple[int, int] | None:
    if record.first_step is None or record.end_step is None:
        return None
    return record.first_step, record.end_step
