"""Splits a report into one for each process, each on a clock of its own, as if it had been taken on another machine."""

from __future__ import annotations

import sqlite3
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_TIMES = ("start", "end")
_PLACES = ("globalPid", "globalTid")


@dataclass(frozen=True)
class WrongClock:
    """A clock that is `ahead_ns` ahead at time 0 and `drift_ppm` too fast from then on."""

    ahead_ns: int = 0
    drift_ppm: int = 0

    def read(self, time: int) -> int:
        return time + self.ahead_ns + time * self.drift_ppm // 1_000_000


def split_report(path: Path, folder: Path, *, clocks: dict[int, WrongClock], utc: bool = True) -> list[Path]:
    """Write one copy of `path` for each process, with only the rows of that process, on its clock; return the copies.

    Args:
        clocks: by the process id.
        utc: leave in what tells the wall clock of time 0.
    """
    return [
        _copy(path, folder / f"process_{pid}.sqlite", pid=pid, clock=clock, utc=utc) for pid, clock in clocks.items()
    ]


def _copy(path: Path, copy: Path, *, pid: int, clock: WrongClock, utc: bool) -> Path:
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as source, sqlite3.connect(copy) as target:
        source.backup(target)
        tables = [name for (name,) in target.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        target.create_function("read_clock", 1, lambda time: None if time is None else clock.read(time))
        for table in tables:
            columns = [row[1] for row in target.execute(f"PRAGMA table_info({table})")]
            for column in filter(columns.__contains__, _PLACES):
                target.execute(f"DELETE FROM {table} WHERE ({column} >> 24) & 0xFFFFFF != ?", (pid,))
            if any(column in columns for column in _PLACES):
                for column in filter(columns.__contains__, _TIMES):
                    target.execute(f'UPDATE {table} SET "{column}" = read_clock("{column}")')
        if not utc:
            target.execute("DELETE FROM TARGET_INFO_SESSION_START_TIME")
    source.close()
    target.close()
    return copy
