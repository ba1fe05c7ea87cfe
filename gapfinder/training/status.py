"""Reads what the hook says about each process of a training: how many steps it saw, whether its window opened."""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, TypeGuard

if TYPE_CHECKING:
    from pathlib import Path

_LARGEST_FILE = 64 * 1024
_LARGEST_NUMBER = 2**62
_LONGEST_TEXT = 1000


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessStatus:
    """What the hook of one process wrote last: when its window opened or closed, at round numbers of steps, at exit.

    Attributes:
        rank, local_rank, world_size: 0, 0 and 1 where nothing told.
        steps: optimizer steps that had ended.
        is_window_opened: whether this process opened the capture range; only local rank 0 does.
        is_window_closed: whether it closed the range before it ended.
        opened_at_step: the step that was under way then; None while it was never opened.
        annotator: "nvtx" or "torch.cuda.nvtx"; None when nothing can write ranges.
        trouble: why the hook marks nothing, or stopped marking; None when all is well.
    """

    pid: int
    host: str
    rank: int
    local_rank: int
    world_size: int
    steps: int
    is_window_opened: bool
    is_window_closed: bool
    opened_at_step: int | None
    annotator: str | None
    trouble: str | None


_NUMBERS = ("pid", "rank", "local_rank", "world_size", "steps")
_FLAGS = ("is_window_opened", "is_window_closed")
_OPTIONAL_TEXTS = ("annotator", "trouble")
_NAMES = frozenset(field.name for field in fields(ProcessStatus))


def read_statuses(folder: Path) -> tuple[ProcessStatus, ...]:
    """Return the statuses in `folder` by rank, host and pid; files that are no whole status are left out."""
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == ".json")
    except OSError:
        return ()
    statuses = (_read(path) for path in paths)
    return tuple(sorted((one for one in statuses if one), key=lambda one: (one.rank, one.host, one.pid)))


def _read(path: Path) -> ProcessStatus | None:
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_FILE:
            return None
        content = json.loads(path.read_bytes())
    except (OSError, ValueError, RecursionError):
        return None
    if not isinstance(content, dict):
        return None
    values = {name: content[name] for name in _NAMES if name in content}
    is_whole = (
        len(values) == len(_NAMES)
        and all(_is_number(values[name]) for name in _NUMBERS)
        and all(isinstance(values[name], bool) for name in _FLAGS)
        and all(values[name] is None or _is_text(values[name]) for name in _OPTIONAL_TEXTS)
        and (values["opened_at_step"] is None or _is_number(values["opened_at_step"]))
        and _is_text(values["host"])
    )
    return ProcessStatus(**values) if is_whole else None


def _is_number(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < _LARGEST_NUMBER


def _is_text(value: object) -> TypeGuard[str]:
    return isinstance(value, str) and len(value) <= _LONGEST_TEXT
