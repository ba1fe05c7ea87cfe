"""Finds what a capture left, and brings it into the run folder under its final name."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.capture.folder import SCRATCH_FOLDER

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gapfinder.capture.launch import Launched

REPORT = "report"
"""The report's name without suffix, where one nsys runs around the whole training."""

_SUFFIXES = (".nsys-rep", ".qdrep")
_STREAM_SUFFIX = ".qdstrm"
_SESSION = re.compile(r"(.+)\.([0-9]+)")
_STREAM_S = 15.0
_STILL_S = 1.0


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """A report, in the run folder if there was room.

    Attributes:
        session: which capture it is, from 1, where a training had several; None where it had one.
        is_partial: whether nsys did not finish it.
    """

    path: Path
    session: int | None
    is_partial: bool


def streams_there() -> Mapping[Path, int]:
    """Return the unfinished captures in nsys's temporary folder, each with its inode."""
    found = {}
    for path in Path(tempfile.gettempdir()).glob(f"*{_STREAM_SUFFIX}"):
        try:
            status = path.stat()
        except OSError:
            continue
        if status.st_uid == os.geteuid():
            found[path] = status.st_ino
    return found


def orphaned_streams(before: Mapping[Path, int], *, folder: Path) -> tuple[Path, ...]:
    """Wait until the agent of an nsys that was killed has written what it has, and return the captures new since then.

    It leaves a capture in the temporary folder, or goes on and makes the report. Several captures may be there when
    other trainings are captured at the same time.
    """
    scratch = folder / SCRATCH_FOLDER
    deadline = time.monotonic() + _STREAM_S
    sizes: dict[Path, int] = {}
    while time.monotonic() < deadline:
        streams = [path for path, inode in streams_there().items() if before.get(path) != inode]
        now = {path: _size(path) for path in (*streams, *scratch.iterdir())}
        if now and now == sizes:
            break
        sizes = now
        time.sleep(_STILL_S)
    return tuple(sorted(path for path in sizes if path.parent != scratch and path.exists()))


def collect_reports(folder: Path, launched: Launched, *, orphans: tuple[Path, ...] = ()) -> tuple[Report, ...]:
    """Move the reports of this run to their place in `folder`; what existed before it is never taken.

    A report that nsys wrote elsewhere is fetched (where it says so), and an unfinished capture too where no report
    came of it.
    """
    scratch = folder / SCRATCH_FOLDER
    said = [path for path in (*launched.reports, *launched.streams) if _is_new(path, since=launched.started_at)]
    there = [*sorted(scratch.iterdir()), *said, *orphans]
    streams = [path for path in there if path.suffix == _STREAM_SUFFIX and path.is_file()]
    # beside an unfinished capture, a report that nsys did not call generated is half a report
    reports = [path for path in there if path.suffix in _SUFFIXES and (path in said or not streams)]
    found = tuple(_placed(path, folder=folder) for path in dict.fromkeys([*reports, *streams]))
    if all(report.path.parent != scratch for report in found):
        shutil.rmtree(scratch, ignore_errors=True)
    return found


def _placed(path: Path, *, folder: Path) -> Report:
    """Move a file into the folder, whole; where there is no room for it, it stays where it is."""
    # nsys calls what it cannot put where it was told nsys-report-1a2b; in the run folder it has the name it was given
    is_named = path.parent.name == SCRATCH_FOLDER and path.parent.parent == folder
    target = _free(folder, stem=path.stem if is_named else REPORT, suffix=path.suffix)
    part = folder / f".{target.name}.part"
    try:
        shutil.move(path, part)
        part.replace(target)
    except OSError:
        part.unlink(missing_ok=True)
        target = path
    session = _SESSION.fullmatch(target.stem)
    return Report(
        path=target,
        session=None if session is None else int(session[2]),
        is_partial=path.suffix == _STREAM_SUFFIX,
    )


def _free(folder: Path, *, stem: str, suffix: str) -> Path:
    return next(path for path in _names(folder, stem=stem, suffix=suffix) if not path.exists())


def _names(folder: Path, *, stem: str, suffix: str) -> Iterator[Path]:
    yield folder / f"{stem}{suffix}"
    number = 2
    while True:
        yield folder / f"{stem}-{number}{suffix}"
        number += 1


def _is_new(path: Path, *, since: float) -> bool:
    try:
        return path.stat().st_mtime >= since
    except OSError:
        return False


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return -1
