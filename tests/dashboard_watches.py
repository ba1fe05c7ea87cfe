"""Records of watches: rows, captures and states with known numbers, and folders that hold them."""

from __future__ import annotations

import os
import socket
import time
from typing import TYPE_CHECKING

from gapfinder.watch.model import CaptureRecord, CaptureState, Event, TimesRow, Trigger, TriggerKind, WatchState
from gapfinder.watch.record import Record

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MS = 1_000_000
BEGAN_S = 1_764_471_600.0  # 2025-11-30 03:00:00 UTC


def row(at: float, *, rank: int = 0, p50: int = 100 * MS, p99: int | None = None, **changed: object) -> TimesRow:
    """Step times over the 5 s until `at`, counted from the begin of the watch; everything is told from p50."""
    values = {
        "at": BEGAN_S + at,
        "rank": rank,
        "step": round(at * 10),
        "steps": 50,
        "mean_ns": p50 + MS,
        "p50_ns": p50,
        "p99_ns": 2 * p50 if p99 is None else p99,
        "longest_ns": 3 * p50,
        "apart_ns": p50 // 2,
        "is_disturbed": False,
    }
    return TimesRow(**values | changed)


def capture(number: int = 1, *, at: float = 60, sentence: str = "it drifts", **changed: object) -> CaptureRecord:
    values = {
        "number": number,
        "trigger": Trigger(kind=TriggerKind.DRIFT, step=600, sentence=sentence),
        "state": CaptureState.DONE,
        "started_at": BEGAN_S + at,
        "first_step": 610,
        "end_step": 620,
        "folder": f"captures/{number:03}",
    }
    return CaptureRecord(**values | changed)


def state(**changed: object) -> WatchState:
    """A watch of this very process."""
    values = {
        "name": "train",
        "command": ("torchrun", "train.py"),
        "host": socket.gethostname(),
        "pid": os.getpid(),
        "started_at": time.time(),
    }
    return WatchState(**values | changed)


def write_watch(
    folder: Path, known: WatchState | None, *, times: Sequence[TimesRow] = (), events: Sequence[Event] = ()
) -> Path:
    """A watch's folder, or more of what one holds."""
    folder.mkdir(parents=True, exist_ok=True)
    troubles: list[str] = []
    record = Record(folder, report=troubles.append)
    if known is not None:
        record.write_state(known)
    record.add_times(times)
    for event in events:
        record.add_event(event)
    assert troubles == []
    return folder
