"""A process that does tasks: it ends with the one that started it, and takes no more memory than it may."""

from __future__ import annotations

import gc
import os
import resource
import signal
import threading
from multiprocessing import parent_process
from multiprocessing.connection import wait
from pathlib import Path

_STATUS = Path("/proc/self/status")


def prepare_worker(memory: int | None) -> None:
    """Make a process of ours a worker: it ends with its parent, and takes at most `memory` bytes beside its code."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C reaches every process; only the parent has words for it
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    gc.disable()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if memory is not None:
        limit = data_bytes() + memory
        resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def _end_with_parent() -> None:
    parent = parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def data_bytes() -> int:
    """Return what counts for RLIMIT_DATA already: stacks and heaps of the libraries that are loaded."""
    for line in _STATUS.read_text().splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    return 0
