"""What one worker does: it exports and measures one report, and hands back what is kept of it."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

from gapfinder.analysis import kept_whole, measure_parts, measure_report
from gapfinder.cluster.memory import MOST_MEMORY, estimated_need, rows_at_once
from gapfinder.cluster.packing import pack
from gapfinder.cluster.process import data_bytes
from gapfinder.errors import InputError
from gapfinder.load import load_profile, open_large

if TYPE_CHECKING:
    from pathlib import Path

    from gapfinder.analysis import MeasuredReport
    from gapfinder.settings import Settings


def measure_file(path: Path, settings: Settings) -> bytes:
    """Return the packed measurement of a report; InputError or NsysError where there is none."""
    try:
        return pack(measured_within(_memory_left(), path, settings=settings))
    except MemoryError:
        what = "--memory allows; allow more, or" if _memory_limit() is not None else "there is;"
        raise InputError(f"{path.name}: needs more memory than {what} measure it where there is more") from None


def measured_within(memory: int, path: Path, *, settings: Settings) -> MeasuredReport:
    """Return the measurement of a report: at once, or in parts where that is likely to take more than the memory."""
    if estimated_need(path) > memory:
        large = open_large(path, whole=kept_whole(settings))
        if large is not None:
            return measure_parts(large, settings=settings, times=large.boundaries(rows_at_once(memory)))
    return measure_report(load_profile(path), settings=settings)


def _memory_left() -> int:
    """Return the bytes that measuring may take here."""
    limit = _memory_limit()
    return MOST_MEMORY if limit is None else min(max(limit - data_bytes(), 0), MOST_MEMORY)


def _memory_limit() -> int | None:
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    return None if limit == resource.RLIM_INFINITY else limit
