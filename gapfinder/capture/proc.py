"""Looks at the processes of this machine, in /proc: which is the training that nsys started, which are nsys's."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_PROC = Path("/proc")
_OF_NSYS = ("nsys", "QdstrmImporter")
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


def agents_of(is_session: Callable[[str], bool]) -> Iterator[int]:
    """Find the processes that nsys leaves running for its sessions, by the session's name on their command line."""
    for entry in _PROC.iterdir():
        if entry.name.isdecimal():
            with suppress(OSError):
                words = os.fsdecode((entry / "cmdline").read_bytes()).split("\0")
                if any(word.startswith(_SESSION) and is_session(word.removeprefix(_SESSION)) for word in words):
                    yield int(entry.name)


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
