"""What one job may take, and what the processes of one take now."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gapfinder.cluster.memory import free_memory

_SHARE_OF_FREE = 0.8
_WITHOUT_AN_ANSWER = 8_000_000_000


def _memory() -> int:
    free = free_memory()
    return _WITHOUT_AN_ANSWER if free is None else int(_SHARE_OF_FREE * free)


@dataclass(frozen=True, kw_only=True, slots=True)
class JobLimits:
    """Bounds on jobs.

    Attributes:
        at_once: how many run at the same time, over all servers of the store.
        memory_bytes: of all processes of one job together, without mapped files.
        seconds: how long one job may run.
    """

    at_once: int = 1
    memory_bytes: int
    seconds: float = 3_600.0


def limits_here(*, at_once: int | None = None, memory_bytes: int | None = None) -> JobLimits:
    """Return limits; what is not told is one job for every four processors, and jobs share most of what is free."""
    at_once = at_once or max(1, (os.cpu_count() or 1) // 4)
    return JobLimits(at_once=at_once, memory_bytes=memory_bytes or _memory() // at_once)


def memory_of(group: int) -> int:
    """Return the bytes that the processes of a group hold, without mapped files."""
    return sum(
        _anonymous(process) for process in Path("/proc").iterdir() if process.name.isdigit() and _is_in(process, group)
    )


def _is_in(process: Path, group: int) -> bool:
    """Say whether a process is of the group; its line holds its name in brackets, then state, parent and group."""
    try:
        return int((process / "stat").read_text(errors="replace").rpartition(")")[2].split()[2]) == group
    except (OSError, IndexError):  # it ended meanwhile
        return False


def _anonymous(process: Path) -> int:
    size = 0
    with suppress(OSError):
        for line in (process / "status").read_text(errors="replace").splitlines():
            if line.startswith(("RssAnon:", "RssShmem:")):
                size += int(line.split()[1]) * 1024
    return size
