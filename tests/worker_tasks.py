"""Tasks for the tests of workers, in a module that other processes can load: some fail, some take their process along."""

from __future__ import annotations

import os
import signal
import time
from typing import TYPE_CHECKING

from gapfinder.cluster.task import measure_file

if TYPE_CHECKING:
    from pathlib import Path

    from gapfinder.settings import Settings


def first_is_last(path: Path, settings: Settings) -> bytes:
    """Measure; the first report is done last."""
    if path.stem == "rank_0":
        time.sleep(0.5)
    return measure_file(path, settings)


def dies_once(path: Path, settings: Settings) -> bytes:
    """Measure; the first worker that has rank 1 is killed when it has nearly done, and leaves a file as its trace."""
    answer = measure_file(path, settings)
    trace = path.with_suffix(".died")
    if path.stem == "rank_1" and not trace.exists():
        trace.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return answer


def always_dies(path: Path, settings: Settings) -> bytes:
    """Measure; every worker that has rank 1 is killed."""
    if path.stem == "rank_1":
        with path.with_suffix(".died").open("a", encoding="utf-8") as trace:
            trace.write(f"{os.getpid()}\n")
        os.kill(os.getpid(), signal.SIGKILL)
    return measure_file(path, settings)


def takes_memory(path: Path, settings: Settings) -> bytes:
    """Take 400 MB before measuring."""
    taken = bytearray(400_000_000)
    answer = measure_file(path, settings)
    del taken
    return answer


def waits(path: Path, settings: Settings) -> bytes:
    """Leave the worker's number, and wait until it is ended."""
    path.with_suffix(".pid").write_text(str(os.getpid()))
    time.sleep(60)
    return measure_file(path, settings)


def has_a_bug(path: Path, settings: Settings) -> bytes:
    """Fail as no report should make it fail."""
    raise ZeroDivisionError(path.name)
