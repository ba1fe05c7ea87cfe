"""What one worker does: it exports and measures one report, and hands back what is kept of it."""

from __future__ import annotations

import resource
from typing import TYPE_CHECKING

from gapfinder.analysis import measure_report
from gapfinder.cluster.packing import pack
from gapfinder.errors import InputError
from gapfinder.load import load_profile

if TYPE_CHECKING:
    from pathlib import Path

    from gapfinder.settings import Settings


def measure_file(path: Path, settings: Settings) -> bytes:
    """Return the packed measurement of a report; InputError or NsysError where there is none."""
    try:
        return pack(measure_report(load_profile(path), settings=settings))
    except MemoryError:
        is_limited = resource.getrlimit(resource.RLIMIT_DATA)[0] != resource.RLIM_INFINITY
        what = "--memory allows; allow more, or" if is_limited else "there is;"
        raise InputError(f"{path.name}: needs more memory than {what} measure it where there is more") from None
