"""Reads NVTX: ranges and marks, with their names and domains."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gapfinder.load.names import UNNAMED, Names
from gapfinder.load.operations import NO_TIME
from gapfinder.load.schema import NVTX
from gapfinder.load.times import check_times
from gapfinder.tables import MARKS, PROCESS_MASK, RANGES

if TYPE_CHECKING:
    from gapfinder.load.btree import Integers
    from gapfinder.load.database import Database

MARK, _DOMAIN = 34, 75
_PUSH_POP, _START_END, _NVTXT_PUSH_POP, _NVTXT_START_END = 59, 60, 70, 71
RANGE_TYPES = (_PUSH_POP, _START_END, _NVTXT_PUSH_POP, _NVTXT_START_END)
"""The types of events that are ranges."""

_PROCESS_WIDE = (_START_END, _NVTXT_START_END)
_COLUMNS = {"start": NO_TIME, "end": NO_TIME, "eventType": -1, "globalTid": 0, "textId": -1, "domainId": 0}
_NCCL_RANGE = re.compile(r"nccl[A-Z].*", re.DOTALL)


def read_nvtx(database: Database, *, capture_end: int | None) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the frames RANGES and MARKS; a range that ends with the capture had not ended by itself."""
    if not database.has_rows(NVTX):
        return RANGES.empty(), MARKS.empty()
    columns = database.integers(NVTX, _COLUMNS, required=("start", "end", "eventType"))
    names = database.names(columns["textId"])
    if database.has_column(NVTX, "text") and names.is_missing().any():
        names = names.otherwise(database.texts(NVTX, "text"))
    domains = _domains(columns, names)
    start, end, kind = columns["start"], columns["end"], columns["eventType"]
    is_range = np.isin(kind, RANGE_TYPES) & (start != NO_TIME)
    is_open = end == NO_TIME
    if capture_end is not None:
        is_open |= end == capture_end
    is_mark = (kind == MARK) & (start != NO_TIME)
    end = np.where(is_open | is_mark, start, end)
    is_timed = is_range | is_mark
    check_times(start[is_timed], end[is_timed], table=NVTX, name=database.name)
    ranges = RANGES.frame(
        {
            "start": start[is_range],
            "end": end[is_range],
            "is_open": is_open[is_range],
            "is_process_wide": np.isin(kind, _PROCESS_WIDE)[is_range],
            "thread": columns["globalTid"][is_range],
            "domain": domains.at(is_range).categorical(unnamed=""),
            "name": names.at(is_range).categorical(),
        }
    )
    marks = MARKS.frame(
        {
            "start": start[is_mark],
            "thread": columns["globalTid"][is_mark],
            "domain": domains.at(is_mark).categorical(unnamed=""),
            "name": names.at(is_mark).categorical(),
        }
    )
    return ranges, marks


def _domains(columns: dict[str, Integers], names: Names) -> Names:
    """Name each event's domain; domain numbers count per process, and 0 is the default domain, which has no name."""
    process_codes, processes = pd.factorize(columns["globalTid"] & PROCESS_MASK)
    number_codes, numbers = pd.factorize(columns["domainId"])
    codes, pairs = pd.factorize(process_codes * len(numbers) + number_codes)
    keys = list(zip(processes[pairs // len(numbers)].tolist(), numbers[pairs % len(numbers)].tolist(), strict=True))
    declared: dict[tuple[int, int], str] = {}
    for row in np.flatnonzero(columns["eventType"] == _DOMAIN).tolist():
        key, text = keys[codes[row]], names.texts[names.codes[row]] or UNNAMED
        declared[key] = min(text, declared.get(key, text))
    domains = Names(codes, tuple(declared.get(key, UNNAMED) if key[1] else None for key in keys))
    is_undeclared = domains.where(key[1] != 0 and key not in declared for key in keys)
    is_nccl = is_undeclared & names.where(bool(_NCCL_RANGE.match(text or "")) for text in names.texts)
    return Names(np.where(is_nccl, len(keys), codes), (*domains.texts, "NCCL"))
