"""Exports and analyses one capture of a watch, in a process of its own that takes only time that nobody else wants."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import gapfinder
from gapfinder.capture.folder import put_beside, write_whole
from gapfinder.errors import GapfinderError, InconclusiveError, InputError

if TYPE_CHECKING:
    from gapfinder.compare.difference import Difference
    from gapfinder.model import Analysis
    from gapfinder.settings import Settings

REPORT, EXPORT, ANALYSIS, PAGE = "report.nsys-rep", "report.sqlite", "analysis.json", "report.html"
CHANGE, CHANGE_JSON = "change.txt", "change.json"
_RESULT = "examined.json"
_LOWEST = 19
_ABOUT_A_RANK = frozenset({"slow-rank", "straggler", "slow-node", "slow-nic", "unbalanced-input"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """What is to be examined.

    Attributes:
        folder: of the capture.
        nsys: path of the program, and its version.
        steps: first and end of those to measure; None for all.
        healthy: folder of the capture to compare with, and its steps; None where there is none.
        label: in the history; None to store nothing there.
        is_lag: whether it was taken because a rank lags.
    """

    folder: str
    nsys: tuple[str, str]
    steps: tuple[int, int] | None
    healthy: tuple[str, tuple[int, int] | None] | None
    label: str | None
    is_lag: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Examined:
    """What came of it.

    Attributes:
        headline: the first finding's title, of a lag the first about a slow rank; the verdict where there is none.
        change: what changed since the healthy capture.
        trouble: what could not be done, in one sentence.
    """

    headline: str | None = None
    change: str | None = None
    trouble: str | None = None


def start_examining(task: Task, *, log: Path) -> subprocess.Popen[bytes]:
    """Start the process that examines a capture; a traceback of it goes into the file `log`. Raises OSError."""
    own = str(Path(gapfinder.__file__).parents[1])
    path = os.pathsep.join(filter(None, [own, os.environ.get("PYTHONPATH")]))
    with log.open("ab") as file:
        return subprocess.Popen(  # noqa: S603 (ours)
            # -P: in the training's folder, a file may be called like a module
            (sys.executable, "-P", "-m", "gapfinder.watch.examine", json.dumps(asdict(task))),
            env={**os.environ, "PYTHONPATH": path},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=file,
            start_new_session=True,
        )


def read_examined(folder: Path) -> Examined:
    """Return what the process left; trouble where it left nothing."""
    try:
        told = json.loads((folder / _RESULT).read_text(encoding="utf-8"))
        return Examined(**told)
    except (OSError, ValueError, TypeError):
        return Examined(trouble="the analysis ended without a result")
    finally:
        with suppress(OSError):
            (folder / _RESULT).unlink()


def examine(task: Task) -> Examined:
    """Export, analyse, compare and store a capture; what fails is told, and the rest is done."""
    folder = Path(task.folder)
    try:
        analysis, settings = _measured(folder, task=task)
        _write(analysis, folder=folder)
    except GapfinderError as error:
        return Examined(trouble=str(error))
    change = None
    troubles = []
    try:
        change = _compared(analysis, task=task, folder=folder)
    except GapfinderError as error:
        troubles.append(f"it could not be compared with the healthy capture: {error}")
    try:
        _store(analysis, settings=settings, label=task.label)
    except GapfinderError as error:
        troubles.append(f"it could not be stored in the history: {error}")
    return Examined(
        headline=_headline(analysis, is_lag=task.is_lag), change=change, trouble="; ".join(troubles) or None
    )


def _headline(analysis: Analysis, *, is_lag: bool) -> str:
    """Return the finding to name: what costs most; of a lag, what costs most of what is about one rank."""
    from gapfinder.render.verdict import verdict

    about_rank = (one for one in analysis.findings if is_lag and one.code in _ABOUT_A_RANK)
    found = next(about_rank, next(iter(analysis.findings), None))
    return verdict(analysis) if found is None else found.title


def _write(analysis: Analysis, *, folder: Path) -> None:
    from gapfinder.render import render_html, render_json

    write_whole(folder / ANALYSIS, render_json(analysis))
    write_whole(folder / PAGE, render_html(analysis))


def _measured(folder: Path, *, task: Task) -> tuple[Analysis, Settings]:
    from gapfinder.capture.nsys import Nsys
    from gapfinder.export import export_report
    from gapfinder.settings import read_settings

    path, version = task.nsys
    export = folder / EXPORT
    if not export.exists():
        put_beside(export_report(folder / REPORT, nsys=Nsys(path=Path(path), version=version)), export)
    return analysed(export, steps=task.steps, settings=read_settings(start=Path()))


def analysed(export: Path, *, steps: tuple[int, int] | None, settings: Settings) -> tuple[Analysis, Settings]:
    """Return the analysis of these steps, else of the whole report, and the settings that made it."""
    from gapfinder.analysis import analyze
    from gapfinder.findings import explained
    from gapfinder.load import load_profile

    chosen = replace(settings, step_range=steps)
    try:
        return explained(analyze([load_profile(export)], settings=chosen)), chosen
    except (InputError, InconclusiveError):
        if steps is None:
            raise
        return analysed(export, steps=None, settings=settings)


def _compared(analysis: Analysis, *, task: Task, folder: Path) -> str | None:
    """Write what changed since the healthy capture, and return it in a few words: of the GPUs, else of the hosts."""
    from gapfinder.render.difference import difference_summary, render_difference_json, render_difference_text
    from gapfinder.settings import read_settings
    from gapfinder.watch.change import change_sentence, change_text, host_change

    if task.healthy is None:
        return None
    healthy, steps = task.healthy
    before, settings = analysed(Path(healthy) / EXPORT, steps=steps, settings=read_settings(start=Path()))
    texts, told = [], []
    if before.lanes and analysis.lanes:
        difference = _gpu_difference(before, analysis, settings=settings)
        write_whole(folder / CHANGE_JSON, render_difference_json(difference))
        texts.append(render_difference_text(difference))
        told.append(f"against the healthy capture: {difference_summary(difference).rstrip('.')}")
    change = host_change(before, analysis)
    if change is not None:
        texts.append(change_text(change))
        told.append(change_sentence(change))
    if texts:
        write_whole(folder / CHANGE, "\n".join(texts))
    return next(iter(told), None)


def _gpu_difference(before: Analysis, after: Analysis, *, settings: Settings) -> Difference:
    from gapfinder.compare.diff import diff
    from gapfinder.compare.take import take_snapshot

    now = datetime.now(UTC)
    old, new = (take_snapshot(one, settings=settings, commit=None, created=now) for one in (before, after))
    return diff(old, new, names=("healthy", "now"))


def _store(analysis: Analysis, *, settings: Settings, label: str | None) -> None:
    """Store it in the history, not accepted; without GPU work there is nothing to store."""
    from gapfinder.compare.git import git_branch, git_commit
    from gapfinder.compare.history import Source, record
    from gapfinder.compare.reference import history_file
    from gapfinder.compare.take import take_snapshot

    if label is None or not analysis.lanes:
        return
    snapshot = take_snapshot(analysis, settings=settings, commit=git_commit(Path()), created=datetime.now(UTC))
    file = history_file(None, settings=settings)
    record(file, snapshot, branch=git_branch(Path()), source=Source.WATCH, accepted=False, label=label)


def _step_back() -> None:
    """Take only processor time that is left over, where the system knows such a thing."""
    with suppress(OSError):
        os.nice(_LOWEST)
    with suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))


def main(told: str) -> None:
    """Examine the capture that is told on the command line, and leave the result in its folder."""
    _step_back()
    given = json.loads(told)
    steps, healthy = given["steps"], given["healthy"]
    task = Task(
        folder=given["folder"],
        nsys=tuple(given["nsys"]),
        steps=steps and (steps[0], steps[1]),
        healthy=healthy and (healthy[0], healthy[1] and (healthy[1][0], healthy[1][1])),
        label=given["label"],
        is_lag=given["is_lag"],
    )
    write_whole(Path(task.folder) / _RESULT, json.dumps(asdict(examine(task))))


if __name__ == "__main__":
    main(sys.argv[1])
