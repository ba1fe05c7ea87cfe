"""Times the steps of a training: mean, median and 99th percentile of each rank, said now and then, kept in a file."""

from __future__ import annotations

import json
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

from gapfinder.errors import InputError
from gapfinder.training.ranks import own_ranks
from gapfinder.units import format_count, format_duration

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from io import FileIO


@dataclass(frozen=True, kw_only=True, slots=True)
class StepTimes:
    """How long one rank's steps took, from the end of one to the end of the next.

    Attributes:
        step: how many steps were done by then.
        steps: how many of the last ones these are about.
    """

    rank: int
    step: int
    steps: int
    mean_ns: int
    p50_ns: int
    p99_ns: int
    longest_ns: int


class StepTimer:
    """Call `step_done` at the end of every step.

    A step is the time between two ends, data loading included, as the host sees it: a GPU that works behind it shows
    once its queue is full, which takes a few steps. The first step is not counted, since it warms up.

    Args:
        every: steps between two reports, each about the steps since the last one.
        path: JSON lines are appended to it, one for each report; each rank adds its number to the name.
        first_step: steps done before, in a training that was resumed.
        say: gets each line; by default rank 0 writes its own to standard error.
        clock: nanoseconds.

    Attributes:
        last: the last report.
    """

    def __init__(
        self,
        *,
        every: int = 100,
        path: Path | str | None = None,
        first_step: int = 0,
        say: Callable[[str], object] | None = None,
        clock: Callable[[], int] = time.perf_counter_ns,
    ) -> None:
        if every < 1:
            raise InputError(f"every={every} steps is never; give at least 1")
        self._every, self._clock = every, clock
        self._rank = own_ranks().rank
        self._say = say or (_say if self._rank == 0 else _say_nothing)
        self._step = first_step
        self._durations: list[int] = []
        self._last: int | None = None
        self._file = None if path is None else self._opened(Path(path))
        self.last: StepTimes | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def step_done(self) -> None:
        """Count a step and report where it is time to."""
        now = self._clock()
        if self._last is not None:
            self._durations.append(now - self._last)
        self._last = now
        self._step += 1
        if self._step % self._every == 0 and self._durations:
            self._report()
            self._last = self._clock()  # a report is no part of a step

    def pause(self) -> None:
        """Leave out the step that is under way, for a validation in it or something else that no step has."""
        self._last = None

    def close(self) -> None:
        """Report what is left, and close the file."""
        if self._durations:
            self._report()
        if self._file is not None:
            self._file.close()
            self._file = None

    def _report(self) -> None:
        self.last = times = self._times()
        self._say(_line(times))
        if self._file is None:
            return
        try:
            self._file.write(f"{json.dumps(asdict(times))}\n".encode())
        except OSError as error:  # a training does not end because its step times cannot be kept
            self._say(f"step times are not kept any more: {error.strerror}")
            self._file.close()
            self._file = None

    def _times(self) -> StepTimes:
        durations = sorted(self._durations)
        self._durations = []
        return StepTimes(
            rank=self._rank,
            step=self._step,
            steps=len(durations),
            mean_ns=round(statistics.fmean(durations)),
            p50_ns=percentile(durations, 50),
            p99_ns=percentile(durations, 99),
            longest_ns=durations[-1],
        )

    def _opened(self, path: Path) -> FileIO:
        own = path.with_name(f"{path.stem}-rank{self._rank}{path.suffix}")
        try:
            own.parent.mkdir(parents=True, exist_ok=True)
            return own.open("ab", buffering=0)
        except OSError as error:
            raise InputError(f"{own} cannot be written: {error.strerror}; name another file") from error


def percentile(ordered: Sequence[int], percent: int) -> int:
    """Return the percentile, interpolated linearly between the two nearest, as in gapfinder's reports."""
    whole, rest = divmod((len(ordered) - 1) * percent, 100)
    low = ordered[whole]
    return low if not rest else low + round((ordered[whole + 1] - low) * rest / 100)


def _line(times: StepTimes) -> str:
    return (
        f"step {times.step}: mean {format_duration(times.mean_ns)}, p50 {format_duration(times.p50_ns)}, "
        f"p99 {format_duration(times.p99_ns)} of {format_count(times.steps, 'step')}"
    )


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def _say_nothing(_: str) -> None:
    return
