"""The frames OS_CALLS and OVERHEADS from small databases."""

from __future__ import annotations

from pathlib import Path

import pytest
from databases import Kernel, global_tid, nsys_database

from gapfinder.errors import InputError
from gapfinder.load import load_profile
from gapfinder.tables import OS_CALLS, OVERHEADS

STRINGS = (("id INTEGER NOT NULL PRIMARY KEY", "value TEXT NOT NULL"), [(1, "poll"), (2, "flush"), (3, "lazy")])
OS_COLUMNS = ("start", "end", "eventClass", "globalTid", "nameId", "returnValue")


def test_calls_into_the_operating_system(tmp_path: Path) -> None:
    rows = [
        (5, 9, 27, global_tid(100, 7), 1, 0),
        (10, None, 27, global_tid(100), 1, 0),
        (1, 2, 27, global_tid(100), 9, 0),
    ]
    tables = {"OSRT_API": (OS_COLUMNS, rows), "StringIds": STRINGS}
    frame = load_profile(nsys_database(tmp_path / "a.sqlite", tables=tables)).read_os_calls()
    assert list(frame.columns) == [column.name for column in OS_CALLS.columns]
    assert frame.astype({"name": str}).to_numpy().tolist() == [
        [5, 9, global_tid(100, 7), "poll"],
        [0, 0, global_tid(100), "poll"],
        [1, 2, global_tid(100), "<unnamed>"],
    ]


def test_overheads_of_profiler_and_driver_are_one_frame(tmp_path: Path) -> None:
    ours = (("start", "end", "globalTid", "nameId", "returnValue"), [(5, 9, global_tid(100), 2, 0)])
    cupti = (("start", "end", "eventClass", "globalTid", "nameId", "overheadType"), [(1, 2, 0, global_tid(101), 3, 7)])
    tables = {"PROFILER_OVERHEAD": ours, "CUPTI_ACTIVITY_KIND_OVERHEAD": cupti, "StringIds": STRINGS}
    frame = load_profile(nsys_database(tmp_path / "a.sqlite", tables=tables)).read_overheads()
    assert list(frame.columns) == [column.name for column in OVERHEADS.columns]
    assert frame.astype({"name": str}).to_numpy().tolist() == [
        [5, 9, global_tid(100), "flush"],
        [1, 2, global_tid(101), "lazy"],
    ]


def test_a_report_without_them_has_empty_frames(tmp_path: Path) -> None:
    profile = load_profile(nsys_database(tmp_path / "a.sqlite", kernels=[Kernel(start=1, end=2)]))
    assert profile.read_os_calls().empty
    assert profile.read_overheads().empty
    assert not profile.has_os_calls


def test_a_text_where_a_time_belongs_is_an_error(tmp_path: Path) -> None:
    rows = [(5, "late", 27, global_tid(100), 1, 0)]
    columns = ("start", "end TEXT", *OS_COLUMNS[2:])
    tables = {"OSRT_API": (columns, rows), "StringIds": STRINGS}
    profile = load_profile(nsys_database(tmp_path / "a.sqlite", tables=tables))
    with pytest.raises(InputError, match="OSRT_API row 1: end is text"):
        profile.read_os_calls()
