"""What `gapfinder run` does once the training has ended: export, analyse, fill the run folder, say what came of it."""

from __future__ import annotations

import json
import signal
import sys
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.capture.folder import put_beside, write_whole
from gapfinder.capture.outcome import Outcome, outcome_of, outcome_sentences
from gapfinder.cli.recording import record_analysis
from gapfinder.cli.streams import say
from gapfinder.cli.terminal import progress_line
from gapfinder.errors import GapfinderError, InconclusiveError, InputError, NsysError, visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from gapfinder.capture.nsys import Nsys
    from gapfinder.capture.reports import Report
    from gapfinder.capture.session import Captured, RunRequest
    from gapfinder.model import Analysis
    from gapfinder.settings import Settings

RECORD = "run.json"
_SKIPPED_STEPS = 10
_ENOUGH_STEPS = 12


def record(folder: Path, *, request: RunRequest, nsys: Nsys, **results: object) -> None:
    """Write run.json: what is run with which nsys, and what came of it so far; never the environment."""
    content = {
        "schema_version": 1,
        "command": list(request.training),
        "nsys_version": nsys.version,
        "steps": None if request.window is None else str(request.window),
        "per_rank": request.is_per_rank,
        "annotated": request.is_annotated,
        "outcome": "running",
        **results,
    }
    write_whole(folder / RECORD, f"{json.dumps(content, indent=1)}\n")


def finish(captured: Captured, *, request: RunRequest, nsys: Nsys, keeps_history: bool) -> int:
    """Analyse what was captured, write the run folder, print the report, and return the exit code of it all.

    What was measured goes into the history where that is kept.
    """
    # a reader of the report that stops early (`| head`) must cost neither the record nor the training's exit code
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    outcome = outcome_of(captured, request=request)
    sentences = list(outcome_sentences(captured, request=request))
    trouble: GapfinderError | None = None
    if captured.reports:
        try:
            sentences += _analyse(captured, request=request, nsys=nsys, keeps_history=keeps_history)
        except GapfinderError as error:
            trouble = error
            sentences.append(f"error: {error}")
    elif outcome is not Outcome.CAPTURED:
        trouble = NsysError("no report")
    code = captured.launched.exit_code
    result = code or (NsysError.exit_code if code is None else 0 if trouble is None else trouble.exit_code)
    try:
        record(
            captured.folder,
            request=request,
            nsys=nsys,
            outcome=outcome.value,
            training_exit_code=code,
            exit_code=result,
            signals=[received.name for received in captured.launched.signals],
            reports=[{"file": one.path.name, "partial": one.is_partial} for one in captured.reports],
            processes=[asdict(process) for process in captured.processes],
            notes=[*captured.warnings, *sentences],
        )
    except InputError as error:  # the training's exit code must not get lost on a full disk
        sentences.append(f"error: {error}")
    for sentence in sentences:
        say(f"gapfinder: {sentence}")
    say(f"Wrote {_shown(captured.folder)}")
    return result


def _analyse(captured: Captured, *, request: RunRequest, nsys: Nsys, keeps_history: bool) -> Iterator[str]:
    """Export and analyse every report, write and print what was found, and yield what is to be said about it."""
    exports = _exported(captured.reports, folder=captured.folder, nsys=nsys)
    sessions = sorted({report.session for report in captured.reports}, key=lambda number: number or 0)
    for session in sessions:
        files = [path for report, path in exports if report.session == session]
        analysis, settings, sentences = _measured(files, captured=captured, request=request)
        yield from sentences
        name = "analysis" if len(sessions) == 1 else f"analysis.{session}"
        page = "report" if len(sessions) == 1 else f"report.{session}"
        _write_results(analysis, data=captured.folder / f"{name}.json", page=captured.folder / f"{page}.html")
        if keeps_history:
            record_analysis(analysis, settings=settings, label=captured.folder.name)


def _write_results(analysis: Analysis, *, data: Path, page: Path) -> None:
    import click

    from gapfinder.cli.analyze import rendered

    write_whole(data, rendered(analysis, form="json", is_terminal=False))
    write_whole(page, rendered(analysis, form="html", is_terminal=False))
    try:
        click.echo(rendered(analysis, form="text", is_terminal=sys.stdout.isatty()), nl=False)
    except InputError as error:
        if not isinstance(error.__cause__, BrokenPipeError):
            raise


def _exported(reports: Sequence[Report], *, folder: Path, nsys: Nsys) -> list[tuple[Report, Path]]:
    """Return each report with its export beside it; a terminal shows which is under way."""
    from rich.markup import escape

    from gapfinder.export import export_report

    exports = []
    with progress_line() as status:
        for number, report in enumerate(reports, start=1):
            status.update(f"Exporting {escape(visible(report.path.name))} ({number} of {len(reports)})")
            target = folder / f"{report.path.stem}.sqlite"
            put_beside(export_report(report.path, nsys=nsys), target)
            exports.append((report, target))
    return exports


def _measured(
    files: Sequence[Path], *, captured: Captured, request: RunRequest
) -> tuple[Analysis, Settings, tuple[str, ...]]:
    """Return the analysis of the steps that were meant, else of the whole report with the reason, and its settings."""
    from gapfinder.settings import read_settings

    settings = read_settings(start=Path())
    wanted = settings.step_range or _settled_steps(captured, request=request)
    if wanted is not None:
        try:
            chosen = replace(settings, step_range=wanted)
            return _analysis(files, settings=chosen), chosen, ()
        except (InputError, InconclusiveError) as error:
            told = f"steps {wanted[0]} to {wanted[1] - 1} are not measured alone ({error}); the whole report is"
            settings = replace(settings, step_range=None)
            return _analysis(files, settings=settings), settings, (told,)
    return _analysis(files, settings=settings), settings, ()


def _settled_steps(captured: Captured, *, request: RunRequest) -> tuple[int, int] | None:
    """Return the steps after warm-up: those asked for, else from the 11th on where there are enough of them."""
    window = request.window
    if window is None or window.end is None:
        return None
    if window.first is not None:
        return window.first, window.end
    seen = max((process.steps for process in captured.processes), default=0)
    return (_SKIPPED_STEPS, window.end) if seen >= _ENOUGH_STEPS else None


def _analysis(files: Sequence[Path], *, settings: Settings) -> Analysis:
    from gapfinder.analysis import analyze
    from gapfinder.cli.profiles import load_profiles
    from gapfinder.findings import explained

    return explained(analyze(load_profiles(files), settings=settings))


def _shown(folder: Path) -> Path:
    """Return the folder as seen from here, where it is below."""
    here = Path.cwd()
    return folder.relative_to(here) if folder.is_relative_to(here) else folder
