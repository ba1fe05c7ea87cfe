"""One capture from beginning to end: the run folder, the command, the training, and what is left of it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.capture.command import CaptureOptions, CaptureRange, capture_command
from gapfinder.capture.folder import SCRATCH_FOLDER, STATUS_FOLDER, new_run_folder
from gapfinder.capture.launch import launch
from gapfinder.capture.launchers import divide, per_rank
from gapfinder.capture.nsys import profile_options
from gapfinder.capture.rank import __file__ as rank_script
from gapfinder.capture.registry import mend_registry, registry_file, shared_lock
from gapfinder.capture.reports import REPORT, collect_reports, orphaned_streams, streams_there
from gapfinder.capture.space import check_space, expected_need
from gapfinder.training.environment import CAPTURE_RANGE, CaptureWindow, hook_environment
from gapfinder.training.status import read_statuses

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from gapfinder.capture.command import CaptureCommand
    from gapfinder.capture.launch import Launched
    from gapfinder.capture.nsys import Nsys
    from gapfinder.capture.reports import Report
    from gapfinder.capture.space import Need
    from gapfinder.training.status import ProcessStatus

DEFAULT_WINDOW = CaptureWindow(first=None, end=30)
"""From the beginning, so that a script with fewer steps is captured whole; see docs/run.md."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RunRequest:
    """What a user wants to be run.

    Attributes:
        training: the command line of the training.
        name: what the run folder is named after.
        window: steps to capture, by the hook; None where it is not to open a capture range.
        is_annotated: whether the hook marks steps and phases.
        is_per_rank: whether each rank has an nsys of its own.
        options: for nsys.
    """

    training: tuple[str, ...]
    name: str
    window: CaptureWindow | None
    is_annotated: bool
    is_per_rank: bool
    options: CaptureOptions


@dataclass(frozen=True, kw_only=True, slots=True)
class Captured:
    """What a run left.

    Attributes:
        warnings: what was said before the start.
        processes: what the hook says of each process; empty without it.
    """

    folder: Path
    warnings: tuple[str, ...]
    launched: Launched
    reports: tuple[Report, ...]
    processes: tuple[ProcessStatus, ...]


def dry_run(request: RunRequest, *, nsys: Nsys, output: Path | None) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Return the command that a run would start and the variables it would set; nothing is made or run."""
    folder = output or Path("RUN_FOLDER")
    return _command(request, nsys=nsys, known=profile_options(nsys), folder=folder)


def run_training(
    request: RunRequest,
    *,
    nsys: Nsys,
    output: Path | None,
    announce: Callable[[Path], None],
    tell: Callable[[str], None],
) -> Captured:
    """Run a training under nsys and return what came of it.

    Args:
        request: what to run.
        nsys: with which nsys.
        output: the run folder; None for a new one under gapfinder-runs.
        announce: is given the run folder before the training starts.
        tell: says a sentence to the user at once.
    """
    known = profile_options(nsys)
    _command(request, nsys=nsys, known=known, folder=Path())  # what is wrong with it shows before anything is made
    folder = new_run_folder(output, name=request.name, now=datetime.now().astimezone()).absolute()
    try:
        words, environment = _command(request, nsys=nsys, known=known, folder=folder)
        warnings = check_space(folder, need=_need(request))
    except BaseException:
        _unmake(folder)
        raise
    for warning in warnings:
        tell(warning)
    announce(folder)
    before = streams_there()
    is_nsys = not request.is_per_rank
    with shared_lock(nsys, environment={**os.environ, **environment}):
        if request.is_per_rank and mend_registry(nsys):  # afterwards nobody could tell that no rank was started
            tell(f"what another nsys left of {registry_file(nsys)} is out of the way")
        launched = launch(words, environment=environment, is_nsys=is_nsys, tell=tell)
        is_refused = is_nsys and not launched.is_started and bool(launched.exit_code) and not launched.signals
        if is_refused and mend_registry(nsys):
            tell(f"what another nsys left of {registry_file(nsys)} kept nsys from starting; it is gone, a second try")
            launched = launch(words, environment=environment, is_nsys=is_nsys, tell=tell)
    is_orphaned = launched.is_started and launched.nsys_killed_by is not None
    orphans = orphaned_streams(before, folder=folder) if is_orphaned else ()
    return Captured(
        folder=folder,
        warnings=warnings,
        launched=launched,
        reports=collect_reports(folder, launched, orphans=orphans if len(orphans) == 1 else ()),
        processes=read_statuses(folder / STATUS_FOLDER),
    )


def _command(
    request: RunRequest, *, nsys: Nsys, known: frozenset[str], folder: Path
) -> tuple[tuple[str, ...], Mapping[str, str]]:
    """Return the words to run and the variables to set around them."""
    options, window = request.options, request.window
    if request.is_annotated:
        if window is not None:
            window = replace(window, is_per_process=request.is_per_rank)
        hook = hook_environment(window=window, status_folder=folder / STATUS_FOLDER, environment=os.environ)
        options = replace(options, environment={**options.environment, **hook})
    if window is not None:
        options = replace(options, capture_range=CaptureRange.NVTX, nvtx_range=CAPTURE_RANGE)
    command = capture_command(options, nsys=nsys, known=known)
    scratch = folder / SCRATCH_FOLDER
    if not request.is_per_rank:
        return command.words(request.training, output=scratch / REPORT), command.environment
    return per_rank(request.training, wrapper=_wrapper(command, scratch=scratch), python=sys.executable), {}


def _wrapper(command: CaptureCommand, *, scratch: Path) -> tuple[str, str]:
    import json

    spec = {"nsys": command.nsys, "folder": str(scratch), "environment": dict(command.environment)}
    return rank_script, json.dumps(spec, separators=(",", ":"))


def _need(request: RunRequest) -> Need:
    ranks = divide(request.training).ranks or 1
    window = request.window
    steps = None if window is None or window.end is None else window.end - (window.first or 0)
    return expected_need(ranks=ranks, steps=steps)


def _unmake(folder: Path) -> None:
    for part in (SCRATCH_FOLDER, STATUS_FOLDER):
        (folder / part).rmdir()
    folder.rmdir()
