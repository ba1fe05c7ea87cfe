"""Asks a watch that runs on this machine for a capture: a file in its folder, which it takes away."""

from __future__ import annotations

import socket
from contextlib import suppress
from pathlib import Path

from gapfinder.capture.folder import RUNS_FOLDER
from gapfinder.capture.proc import is_alive
from gapfinder.errors import InputError
from gapfinder.units import format_count
from gapfinder.watch.record import find_watches, read_state

_ASKED = Path("captures", "asked")


def ask_for_capture(folder: Path | None) -> Path:
    """Ask the watch in `folder`, else the newest that is alive, and return its folder.

    `folder` is a watch's own or one that holds watches. Raises InputError where no watch is alive on this machine.
    """
    looked = folder or Path(RUNS_FOLDER)
    watches = find_watches(looked)
    living = next((watch for watch in watches if _is_alive(watch)), None)
    if living is None:
        known = format_count(len(watches), "watch")
        seen = f"it holds {known}, and none runs on this machine any more" if watches else "there is no watch"
        raise InputError(f"nobody to ask in {looked}: {seen}; start one with `gapfinder watch`, or name its folder")
    try:
        (living / _ASKED).parent.mkdir(exist_ok=True)
        (living / _ASKED).touch()
    except OSError as error:
        raise InputError(f"cannot write {living / _ASKED}: {error.strerror}") from error
    return living


def is_asked(folder: Path) -> bool:
    """Return whether somebody has asked for a capture since the last call."""
    with suppress(OSError):
        (folder / _ASKED).unlink()
        return True
    return False


def _is_alive(folder: Path) -> bool:
    state = read_state(folder)
    return state is not None and state.ended_at is None and state.host == socket.gethostname() and is_alive(state.pid)
