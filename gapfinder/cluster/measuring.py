"""Measures many reports, one task for each; what fails is named and left out, and what was lost is tried once more."""

from __future__ import annotations

from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gapfinder.analysis import join_collectives, join_reports
from gapfinder.cluster.packing import unpack
from gapfinder.cluster.task import measure_file
from gapfinder.errors import GapfinderError, InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import Executor
    from pathlib import Path

    import pandas as pd

    from gapfinder.analysis import MeasuredReport
    from gapfinder.cluster.workers import Workers
    from gapfinder.model import Analysis
    from gapfinder.settings import Settings

    Task = Callable[[Path, Settings], bytes]
    Watch = Callable[[Sequence[Path], int], None]


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A report that could not be measured, and why."""

    path: Path
    error: GapfinderError

    @property
    def sentence(self) -> str:
        """One line that names it."""
        told = str(self.error)
        return f"left out: {told}" if self.path.name in told else f"left out: {self.path.name}: {told}"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Measured:
    """What came of all reports; both in the order in which their files were given.

    Attributes:
        reports: those that were measured.
        left_out: the others.
    """

    reports: tuple[MeasuredReport, ...]
    left_out: tuple[LeftOut, ...]

    def analysis(self, *, settings: Settings) -> Analysis:
        """Return the analysis of the reports, its notes on each that was left out; raises what `join_reports` does."""
        return self._noted(join_reports(self.reports, settings=settings))

    def collectives(self, *, settings: Settings) -> tuple[Analysis, pd.DataFrame]:
        """Return the same and every single collective (frame COLLECTIVES)."""
        analysis, collectives = join_collectives(self.reports, settings=settings)
        return self._noted(analysis), collectives

    def _noted(self, analysis: Analysis) -> Analysis:
        notes = (*(one.sentence for one in self.left_out), *analysis.coverage.notes)
        return replace(analysis, coverage=replace(analysis.coverage, notes=notes))


def measure_files(
    files: Sequence[Path],
    *,
    settings: Settings,
    workers: Workers,
    watch: Watch = lambda _running, _done: None,
    task: Task = measure_file,
) -> Measured:
    """Measure every report, wherever `workers` are; the result does not depend on who is done first.

    A task whose worker died is tried once more when nothing else runs: a neighbour may have taken the memory.

    Args:
        files: the reports.
        settings: how they are measured.
        workers: where.
        watch: told the files under way and how many are done, whenever that changes.
        task: what a worker does with one file.
    """
    work = _Work(files=files, settings=settings, workers=workers, watch=watch, task=task)
    waiting, lost = list(range(len(files))), []
    while waiting:
        waiting, gone = work.run(waiting)
        lost += gone
    for place in sorted(lost):
        if work.run([place])[1]:
            work.answers[place] = InputError(
                "its worker died twice; the system ends what takes too much memory, so measure it where there is more"
            )
    return Measured(
        reports=tuple(answer for _, answer in sorted(work.answers.items()) if not isinstance(answer, GapfinderError)),
        left_out=tuple(
            LeftOut(files[place], answer)
            for place, answer in sorted(work.answers.items())
            if isinstance(answer, GapfinderError)
        ),
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Work:
    """All tasks, and the answers so far by the place of their file."""

    files: Sequence[Path]
    settings: Settings
    workers: Workers
    watch: Watch
    task: Task
    packed: dict[int, bytes] = field(default_factory=dict)
    answers: dict[int, MeasuredReport | GapfinderError] = field(default_factory=dict)

    def run(self, places: Sequence[int]) -> tuple[list[int], list[int]]:
        """Run tasks until all are answered or some are lost; return which were not begun, and which were lost."""
        waiting, lost = list(places), list[int]()
        running: dict[Future[bytes], int] = {}
        with self.workers.open() as executor:
            while running or (waiting and not lost):
                while waiting and not lost and self._has_room(waiting[0], running):
                    place = waiting.pop(0)
                    done_before = len(self.answers) + len(self.packed)
                    self.watch([self.files[at] for at in (*running.values(), place)], done_before)
                    try:
                        running[self._submit(place, executor)] = place
                    except self.workers.lost():  # a worker died since the last look, and takes all along
                        (waiting if running else lost).insert(0, place)
                        break
                self._unpack()  # while the workers have something to do
                done, _ = wait(running, return_when=FIRST_COMPLETED)
                lost += [place for future in done if not self._take(place := running.pop(future), future)]
        self._unpack()
        return waiting, lost

    def _submit(self, place: int, executor: Executor) -> Future[bytes]:
        return executor.submit(self.task, self.workers.found_at(self.files[place]), self.settings)

    def _unpack(self) -> None:
        for place, packed in self.packed.items():
            # a worker may know it by another path
            self.answers[place] = replace(unpack(packed), profile_path=self.files[place].parts)
        self.packed.clear()

    def _has_room(self, place: int, running: dict[Future[bytes], int]) -> bool:
        return self.workers.has_room(self.files[place], beside=[self.files[at] for at in running.values()])

    def _take(self, place: int, future: Future[bytes]) -> bool:
        """Keep a task's answer and return True; False where its worker died."""
        try:
            self.packed[place] = future.result()
        except GapfinderError as error:
            self.answers[place] = error
        except self.workers.lost():
            return False
        return True
