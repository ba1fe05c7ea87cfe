"""Looks at the processes of this machine, in /proc: which is the training that nsys started, which are nsys's."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_PROC = Path("/proc")
_OF_NSYS = ("nsys", "QdstrmImporter")
_LOOK_S = 0.05
_SESSION = "--session-name="


def training_process(nsys: int) -> int | None:
    """Return the process that nsys started: its nearest descendant that is no part of nsys; None while there is none.

    nsys runs nsys-launcher, which runs the training in a session of its own, and nsys-tee beside it.
    """
    children: dict[int, list[int]] = {}
    names: dict[int, str] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdecimal() and (found := _stat(int(entry.name))) is not None:
            names[int(entry.name)], parent, _ = found
            children.setdefault(parent, []).append(int(entry.name))
    ahead = sorted(children.get(nsys, []))
    while ahead:
        process = ahead.pop(0)
        if not names[process].startswith(_OF_NSYS) and not _is_nsys(process):
            return process
        ahead += sorted(children.get(process, []))
    return None


def _is_nsys(process: int) -> bool:
    """Return whether it runs nsys's program: what nsys forks has the name of one of its threads until it has begun."""
    try:
        return os.readlink(_PROC / str(process) / "exe").rpartition("/")[2].startswith(_OF_NSYS)  # noqa: PTH115
    except OSError:
        return False


def is_alive(process: int) -> bool:
    """Return whether a process is there and has not ended."""
    found = _stat(process)
    return found is not None and found[2] not in ("Z", "X")


def agents_of(is_session: Callable[[str], bool]) -> list[int]:
    """Return the processes that nsys has running for its sessions, by the session's name on their command line."""
    found = []
    for entry in _PROC.iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                words = os.fsdecode((entry / "cmdline").read_bytes()).split("\0")
                if any(word.startswith(_SESSION) and is_session(word.removeprefix(_SESSION)) for word in words):
                    found.append(int(entry.name))
    return [process for process in found if is_alive(process)]


def end_all(left: Callable[[], Sequence[int]], *, patience_s: float, grace_s: float) -> None:
    """Wait for processes to end; those that are left then are sent SIGTERM, and SIGKILL after that."""
    for number, seconds in ((0, patience_s), (signal.SIGTERM, grace_s), (signal.SIGKILL, grace_s)):
        for process in left():
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process, number)
        deadline = time.monotonic() + seconds
        while left() and time.monotonic() < deadline:
            time.sleep(_LOOK_S)
        if not left():
            return


def _stat(process: int) -> tuple[str, int, str] | None:
    """Return a process's name, parent and state; None where it is gone."""
    try:
        text = (_PROC / str(process) / "stat").read_text(errors="replace")
    except OSError:
        return None
    # the name stands in parentheses, and may hold some
    name, _, rest = text.partition("(")[2].rpartition(")")
    state, parent, *_ = rest.split()
    return name, int(parent), state
