"""The watches that the dashboard was told of: which there are, what each has recorded, and whether it still runs."""

from __future__ import annotations

import os
import socket
import time
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.capture.proc import is_alive
from gapfinder.watch.following import FollowedRecord
from gapfinder.watch.record import EVENTS_NAME, STATE_NAME, TIMES_NAME, find_watches

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gapfinder.watch.following import WatchRecord
    from gapfinder.watch.model import CaptureRecord, WatchState

_PROC = Path("/proc")
_CLOCK_STEPS_S = 60.0
"""By how much the wall clock may have been set since the watch began."""

_REMEMBERED = 8


class Training(StrEnum):
    """What is known of a watched training."""

    RUNNING = "running"
    ENDED = "ended"
    UNKNOWN = "unknown"
    WATCH_GONE = "watch gone"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class Watched:
    """One watch.

    Attributes:
        key: tells it from the others in an address: the folder's name, and the whole path where two have that name.
        mark: the sizes and times of change of its files; while that stays, there is nothing new.
    """

    folder: Path
    key: str
    mark: str


def watches_in(roots: Iterable[Path]) -> list[Watched]:
    """Return the watches in these folders, those of one folder with the newest first, each once."""
    folders = list(dict.fromkeys(path for root in roots for path in find_watches(root)))
    names = [folder.name for folder in folders]
    return [
        Watched(folder, folder.name if names.count(folder.name) == 1 else str(folder), _mark(folder))
        for folder in folders
    ]


def record_of(watched: Watched) -> WatchRecord:
    """Return what a watch has recorded; read once for all who ask while it stays the same."""
    return _followed(watched.folder).read(watched.mark)


@lru_cache(maxsize=_REMEMBERED)
def _followed(folder: Path) -> FollowedRecord:
    return FollowedRecord(folder)


def _mark(folder: Path) -> str:
    return " ".join(_file_mark(folder / name) for name in (STATE_NAME, TIMES_NAME, EVENTS_NAME))


def _file_mark(path: Path) -> str:
    try:
        state = path.stat()
    except OSError:
        return "-"
    return f"{state.st_ino}.{state.st_size}.{state.st_mtime_ns}"


def training_of(state: WatchState) -> Training:
    """Return what became of a training; whether a watch without an end still lives is only known on its own host."""
    if state.training_exit_code is not None:
        return Training.ENDED
    if state.ended_at is not None:
        return Training.UNKNOWN
    if state.host != socket.gethostname():
        return Training.ELSEWHERE
    return Training.RUNNING if _is_watching(state) else Training.WATCH_GONE


def _is_watching(state: WatchState) -> bool:
    """Say whether the watch's process lives, and is no later one of the same number."""
    if not is_alive(state.pid):
        return False
    try:
        begun_ticks = int((_PROC / str(state.pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()[19])
    except (OSError, ValueError, IndexError):
        return False
    begun_at = time.time() - time.clock_gettime(time.CLOCK_BOOTTIME) + begun_ticks / os.sysconf("SC_CLK_TCK")
    return begun_at <= state.started_at + _CLOCK_STEPS_S


def report_of(watched: Watched, capture: CaptureRecord) -> Path | None:
    """Return where a capture's export is to be, as the store calls it; None where no folder is told."""
    return (watched.folder / capture.folder / "report.sqlite").resolve() if capture.folder else None
