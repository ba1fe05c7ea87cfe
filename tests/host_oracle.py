"""Steps and phases on the host once more, from the rows of an export by plain SQLite, one moment after the other."""

from __future__ import annotations

import re
import sqlite3
from collections import Counter
from contextlib import closing
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

PHASES = ("data loading", "forward", "backward", "optimizer", "checkpoint", "garbage collection")
RANGES, MARK, DOMAIN = (59, 60, 70, 71), 34, 75
_MARK = re.compile(r"rank=(\d+) local_rank=(\d+) world_size=(\d+) host=(\S+)")


@dataclass(frozen=True)
class Row:
    """An NVTX event with its texts."""

    start: int
    end: int | None
    kind: int
    tid: int
    domain: str
    text: str


@dataclass(frozen=True)
class Step:
    """One complete step after the first: the ns of each phase, and how many micro-steps it has."""

    number: int
    start: int
    end: int
    phases: dict[str, int]
    micro_steps: int


def processes_of(path: Path) -> dict[int, tuple[tuple[str, ...] | None, list[Step]]]:
    """Return the mark (rank, local rank, world size, host) and the steps of each process, by pid."""
    found = {}
    for pid, rows in _rows(path).items():
        marks = [_MARK.fullmatch(row.text) for row in rows if row.kind == MARK and row.domain in ("gapfinder", "")]
        told = [match.groups() for match in marks if match]
        steps = _steps([row for row in rows if row.kind in RANGES])
        if told or steps:
            found[pid] = (told[0] if told else None, steps)
    return found


def _rows(path: Path) -> dict[int, list[Row]]:
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as connection:
        strings = dict(connection.execute("SELECT id, value FROM StringIds"))
        columns = "start, end, eventType, globalTid, domainId, text, textId"
        events = connection.execute(f"SELECT {columns} FROM NVTX_EVENTS ORDER BY start").fetchall()
        ((ended,),) = connection.execute("SELECT duration FROM ANALYSIS_DETAILS").fetchall() or [(None,)]
    domains = {
        (tid >> 24, number): text or strings[at] for _, _, kind, tid, number, text, at in events if kind == DOMAIN
    }
    rows: dict[int, list[Row]] = {}
    for start, end, kind, tid, number, text, at in events:
        words = strings[at] if at is not None else text
        row = Row(start, None if end == ended else end, kind, tid, domains.get((tid >> 24, number), ""), words or "")
        rows.setdefault(tid >> 24 & 0xFFFFFF, []).append(row)
    return rows


def _steps(rows: list[Row]) -> list[Step]:
    steps = [row for row in rows if re.fullmatch(r"step \d+", row.text)]
    own = {row.tid for row in steps}
    told = [row for row in rows if row.text in PHASES and row.domain in ("gapfinder", "") and row.end is not None]
    micro = [row for row in rows if re.fullmatch(r"micro-step \d+( sync)?", row.text) and row.end is not None]
    return [
        Step(
            number=int(row.text.split()[1]),
            start=row.start,
            end=row.end,
            phases=_spent(row.start, row.end, told, own),
            micro_steps=max(sum(row.start <= one.start < row.end for one in micro), 1),
        )
        for row in steps[1:]
        if row.end is not None
    ]


def _spent(start: int, end: int, told: list[Row], own: set[int]) -> dict[str, int]:
    edges = sorted({start, end, *(t for row in told for t in (row.start, row.end or 0) if start < t < end)})
    spent: Counter[str] = Counter()
    for first, last in pairwise(edges):
        spent[_phase(first, told, own)] += last - first
    return dict(spent)


def _phase(moment: int, told: list[Row], own: set[int]) -> str:
    lasting = [row for row in told if row.start <= moment < (row.end or 0)]
    collecting = [row for row in lasting if row.text == "garbage collection"]
    mine = [row for row in lasting if row.tid in own]
    others = [row for row in lasting if row.tid not in own and row.text not in ("data loading", "checkpoint")]
    for candidates in (collecting, mine, others):
        if candidates:
            return max(candidates, key=lambda row: (row.start, -(row.end or 0), PHASES.index(row.text))).text
    return "other"
