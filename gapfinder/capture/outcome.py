"""Says truly what came of a run: the training's end and the capture's are judged apart."""

from __future__ import annotations

import signal
from enum import StrEnum
from typing import TYPE_CHECKING

from gapfinder.capture.launchers import divide
from gapfinder.units import format_count, format_numbers, runs_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from gapfinder.capture.session import Captured, RunRequest
    from gapfinder.training.status import ProcessStatus

_SIGNALLED = 128


class Outcome(StrEnum):
    """What came of the capture, whatever the training's exit code."""

    CAPTURED = "captured"
    PARTIAL = "partial"
    NEVER_OPENED = "window never opened"
    NO_REPORT = "no report"
    NOT_STARTED = "training not started"


def outcome_of(captured: Captured, *, request: RunRequest) -> Outcome:
    """Return what came of a capture."""
    if captured.reports:
        is_partial = any(report.is_partial for report in captured.reports)
        return Outcome.PARTIAL if is_partial or captured.launched.nsys_killed_by else Outcome.CAPTURED
    if not captured.launched.is_started:
        return Outcome.NOT_STARTED
    is_opened = any(process.is_window_opened for process in captured.processes)
    return Outcome.NEVER_OPENED if request.window is not None and not is_opened else Outcome.NO_REPORT


def outcome_sentences(captured: Captured, *, request: RunRequest) -> tuple[str, ...]:
    """Return what a user should know about the end of a run; nothing where all went well."""
    return tuple(_sentences(captured, request=request))


def missing_ranks(processes: Iterable[ProcessStatus]) -> tuple[int, ...]:
    """Return the ranks that no process reported, of the world that one of them told."""
    trained = [process for process in processes if process.trouble is None]
    world = max((process.world_size for process in trained), default=0)
    return tuple(sorted(set(range(world)) - {process.rank for process in trained}))


def format_ranks(ranks: Sequence[int]) -> str:
    """Return "rank 3" or "ranks 1, 4 to 7"."""
    return f"{'rank' if len(ranks) == 1 else 'ranks'} {format_numbers(runs_of(sorted(ranks)))}"


def _sentences(captured: Captured, *, request: RunRequest) -> Iterator[str]:
    launched = captured.launched
    outcome = outcome_of(captured, request=request)
    if outcome is Outcome.NOT_STARTED:
        killed_by, code = launched.nsys_killed_by, launched.exit_code
        ended = f"was ended by {killed_by.name}" if killed_by else f"ended with exit code {code}"
        yield f"nsys {ended} before the training started; its own words are above"
        return
    if launched.nsys_killed_by is not None:
        yield f"nsys was ended by {launched.nsys_killed_by.name}; how the training ended is not known"
    elif launched.exit_code:
        yield f"the training ended with {code_words(launched.exit_code)}"
    if outcome is Outcome.PARTIAL:
        yield "nsys did not finish its report: what it had written by then is analysed, and may lack the end"
    elif outcome is Outcome.NEVER_OPENED:
        yield _never_opened(captured, request=request)
    elif outcome is Outcome.NO_REPORT:
        yield _no_report(captured, request=request)
    yield from _troubles(captured.processes)
    yield from _no_steps(captured)
    missing = missing_ranks(captured.processes)
    if missing:
        yield (
            f"no process reported {format_ranks(missing)}: they ran on other machines, or Python there does not load "
            "gapfinder's hook; see multi-node runs in docs/run.md"
        )
    yield from _few_reports(captured, request=request)


def code_words(code: int) -> str:
    """Return "exit code 3", with the signal's name where the code stands for one."""
    if code > _SIGNALLED and code - _SIGNALLED in list(signal.Signals):
        return f"exit code {code} ({signal.Signals(code - _SIGNALLED).name})"
    return f"exit code {code}"


def _never_opened(captured: Captured, *, request: RunRequest) -> str:
    window = request.window
    assert window is not None  # noqa: S101 (only then could it open)
    if not captured.processes:
        if captured.launched.exit_code:
            return "the capture window never opened, because the training ended before torch was imported"
        return (
            "the capture window never opened, because no Python process that imports torch was seen; capture the whole "
            "run with --capture-range none, or your own range with --capture-range nvtx --nvtx-range NAME@DOMAIN"
        )
    seen = ", ".join(
        f"rank {one.rank} (pid {one.pid}): {format_count(one.steps, 'step')}" for one in captured.processes
    )
    if window.first is None:
        stepped = any(one.steps for one in captured.processes)
        why = "no mark of a step reached nsys" if stepped else "no optimizer took a step"
        remedy = f"{why}; capture the whole run with --capture-range none"
    else:
        remedy = f"it opens at step {window.first}; choose earlier steps with --steps, or leave --steps out"
    return f"the capture window never opened: {remedy} (seen: {seen})"


def _no_report(captured: Captured, *, request: RunRequest) -> str:
    name = request.options.nvtx_range or "cudaProfilerStart"
    if request.window is None and request.options.capture_range != "none":
        return f"nsys wrote no report, because {name} was never reached; see --capture-range"
    told = "what nsys said is above" if captured.launched.nsys_killed_by is None else "it was ended too early"
    return f"nsys wrote no report: {told}"


def _troubles(processes: Iterable[ProcessStatus]) -> Iterator[str]:
    troubles: dict[str, list[int]] = {}
    for process in processes:
        if process.trouble is not None:
            troubles.setdefault(process.trouble, []).append(process.pid)
    for trouble, pids in troubles.items():
        yield f"no steps are marked in process {', '.join(map(str, pids))}: {trouble}"


def _no_steps(captured: Captured) -> Iterator[str]:
    """Say that a capture has no steps, where the hook saw none end."""
    marking = [process for process in captured.processes if process.trouble is None]
    if captured.reports and marking and not any(process.steps for process in marking):
        yield (
            "no steps are marked, because no optimizer of torch took one; a range around each step, such as `step 7`, "
            "does the same: see docs/annotate.md"
        )


def _few_reports(captured: Captured, *, request: RunRequest) -> Iterator[str]:
    """Say how many ranks left no report of their own, where each was to leave one."""
    if not request.is_per_rank or not captured.reports:
        return
    ranks = divide(request.training).ranks
    files = len({report.path.name.partition(".")[0] for report in captured.reports})
    if ranks is not None and files < ranks:
        yield f"{format_count(ranks - files)} of {format_count(ranks, 'rank')} left no report"
