"""What one worker does: it exports and measures one report, and hands back what is kept of it."""

from __future__ import annotations

import gc
import os
import resource
import signal
import threading
from multiprocessing import parent_process
from multiprocessing.connection import wait
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.analysis import measure_report
from gapfinder.cluster.packing import pack
from gapfinder.errors import InputError
from gapfinder.load import load_profile

if TYPE_CHECKING:
    from gapfinder.settings import Settings

_STATUS = Path("/proc/self/status")


def measure_file(path: Path, settings: Settings) -> bytes:
    """Return the packed measurement of a report; InputError or NsysError where there is none."""
    try:
        return pack(measure_report(load_profile(path), settings=settings))
    except MemoryError:
        is_limited = resource.getrlimit(resource.RLIMIT_DATA)[0] != resource.RLIM_INFINITY
        what = "--memory allows; allow more, or" if is_limited else "there is;"
        raise InputError(f"{path.name}: needs more memory than {what} measure it where there is more") from None


def prepare_worker(memory: int | None) -> None:
    """Make a process of ours a worker: it ends with its parent, and takes at most `memory` bytes beside its code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches every process; only the parent has words for it
    gc.disable()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if memory is not None:
        limit = _data_bytes() + memory
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _data_bytes() -> int:
    """Return what counts for RLIMIT_DATA already: stacks and heaps of the libraries that are loaded."""
    for line in _STATUS.read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    return 0
