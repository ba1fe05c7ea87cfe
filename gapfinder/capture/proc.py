"""Looks at the processes of this machine, in /proc: which of them is the training that nsys started."""

from __future__ import annotations

from pathlib import Path

_PROC = Path("/proc")
_OF_NSYS = ("nsys", "QdstrmImporter")


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
        if not names[process].startswith(_OF_NSYS):
            return process
        ahead += sorted(children.get(process, []))
    return None


def is_alive(process: int) -> bool:
    """Return whether a process is there and has not ended."""
    found = _stat(process)
    return found is not None and found[2] not in ("Z", "X")


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
