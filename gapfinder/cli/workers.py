"""The options that say where reports are measured, and measuring them there with a word on what is under way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from gapfinder.cli.gathering import gathered
from gapfinder.cli.streams import say
from gapfinder.cli.terminal import progress_line
from gapfinder.errors import InconclusiveError, InputError, visible

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from gapfinder.cluster.measuring import Measured
    from gapfinder.cluster.workers import Workers
    from gapfinder.settings import Settings


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkersWanted:
    """What a user wrote about where reports are measured."""

    workers: int | None
    memory: str | None
    scheduler: str | None

    def expect(self, profiles: Sequence[Path]) -> None:
        """Let processes start to load their libraries before this one loads its own, where they are likely used."""
        from gapfinder.cluster.workers import expect_processes

        if self.scheduler is None:
            expect_processes(profiles, count=self.workers)

    def chosen(self, files: Sequence[Path]) -> Workers:
        """Return where the reports are measured; InputError for options that exclude each other."""
        from gapfinder.cluster.dask import DaskWorkers
        from gapfinder.cluster.workers import local_workers
        from gapfinder.units import parse_bytes

        if self.scheduler is None:
            memory = None if self.memory is None else parse_bytes(self.memory)
            return local_workers(files, count=self.workers, memory=memory)
        if self.workers is not None or self.memory is not None:
            raise InputError(
                "--workers and --memory are for this machine; with --scheduler, Dask's workers have their own"
            )
        return DaskWorkers(self.scheduler)


def measured_files(files: Sequence[Path], *, settings: Settings, place: WorkersWanted) -> Measured:
    """Measure reports; what is left out is said on stderr, and a terminal shows what is under way.

    Where nothing could be measured, the first report's error is raised.
    """
    from rich.markup import escape

    from gapfinder.cluster.measuring import measure_files
    from gapfinder.units import format_count

    workers = place.chosen(files)
    with progress_line() as status:

        def watch(running: Sequence[Path], done: int) -> None:
            others = f" and {format_count(len(running) - 1, 'other')}" if len(running) > 1 else ""
            name = escape(visible(str(running[0])))
            status.update(f"Measuring {name}{others} ({format_count(done)} of {format_count(len(files))} done)")

        measured = measure_files(files, settings=settings, workers=workers, watch=watch)
    named = measured.left_out if measured.reports else measured.left_out[1:]
    for one in named:
        say(f"gapfinder: {one.sentence}")
    if not measured.reports and measured.left_out:
        raise measured.left_out[0].error
    return measured


def check_complete(measured: Measured) -> None:
    """Raise InconclusiveError where reports were left out."""
    if measured.left_out:
        count = len(measured.reports)
        raise InconclusiveError(f"the report is about {count} of {count + len(measured.left_out)} files; see above")


worker_options = gathered(
    "place",
    WorkersWanted,
    click.option(
        "--workers",
        type=click.IntRange(min=1),
        metavar="N",
        help="Reports measured at once, each in a process of its own; as many as CPUs when not given.",
    ),
    click.option(
        "--memory", metavar="SIZE", help="What each of these processes may take, such as 8GB; 4GB when not given."
    ),
    click.option(
        "--scheduler", metavar="ADDRESS", help="Measure on the workers of this Dask scheduler (address or its file)."
    ),
)
