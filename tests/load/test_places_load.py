"""Every operation belongs to one lane, also where a table does not tell its process or device."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from databases import Copy, Graph, Kernel, global_pid, nsys_database

from gapfinder.errors import InputError
from gapfinder.load import Limits, load_profile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

MEMCPY, KERNEL = "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_KERNEL"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rank3.sqlite"


def without(path: Path, column: str, *, places: Sequence[tuple[int, int]]) -> Path:
    """A kernel and a copy in each place (pid, device), the copies without one of their columns."""
    nsys_database(
        path,
        kernels=[Kernel(start=5, end=6, pid=pid, device=device) for pid, device in places],
        copies=[Copy(start=7, end=8, pid=pid, device=device) for pid, device in places],
    )
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"ALTER TABLE {MEMCPY} DROP COLUMN {column}")
    return path


def test_a_process_that_one_table_lacks_is_the_only_one(path: Path) -> None:
    profile = load_profile(without(path, "globalPid", places=[(100, 0), (100, 1)]))
    assert profile.copies["process"].tolist() == [global_pid(100)] * 2
    assert profile.copies["device"].tolist() == [0, 1]
    assert "the process (globalPid) is missing in 2 rows of copies: taken as the only one there is" in profile.notes


def test_a_device_that_one_table_lacks_is_the_only_one_of_the_process(path: Path) -> None:
    profile = load_profile(without(path, "deviceId", places=[(100, 0), (101, 3)]))
    assert profile.copies["device"].tolist() == [0, 3]
    assert profile.notes[-1] == (
        "the device (deviceId) is missing in 2 rows of copies: taken as the only one of their process"
    )


@pytest.mark.parametrize(
    ("column", "places", "said"),
    [
        ("globalPid", [(100, 0), (101, 0)], "the process (globalPid) is missing in 2 rows of copies"),
        ("deviceId", [(100, 0), (100, 1)], "the device (deviceId) is missing in 2 rows of copies"),
    ],
)
def test_what_could_be_any_of_several_is_refused(
    path: Path, column: str, places: list[tuple[int, int]], said: str
) -> None:
    with pytest.raises(InputError) as caught:
        load_profile(without(path, column, places=places))
    assert f"rank3.sqlite: {said}" in str(caught.value)


def test_single_rows_without_a_place_are_filled_and_the_others_stay(path: Path) -> None:
    nsys_database(
        path, kernels=[Kernel(start=k, end=k + 1, device=2) for k in range(3)], graphs=[Graph(start=9, end=10)]
    )
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"UPDATE {KERNEL} SET globalPid = NULL, deviceId = NULL WHERE rowid = 2")
        db.execute("UPDATE CUPTI_ACTIVITY_KIND_GRAPH_TRACE SET deviceId = NULL, globalPid = NULL")
        db.commit()
    profile = load_profile(path)
    assert profile.kernels[["process", "device"]].to_numpy().tolist() == [[global_pid(100), 2]] * 3
    assert profile.graphs[["process", "device"]].to_numpy().tolist() == [[global_pid(100), 2]]
    assert (
        "the process (globalPid) is missing in 1 row of kernels and 1 row of graphs: taken as the only one there is"
        in (profile.notes)
    )


def test_what_no_row_tells_stays_unknown_and_needs_no_note(path: Path) -> None:
    nsys_database(path, kernels=[Kernel(start=1, end=2)])
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"UPDATE {KERNEL} SET globalPid = NULL, deviceId = NULL")
        db.commit()
    profile = load_profile(path)
    assert profile.kernels[["process", "device"]].to_numpy().tolist() == [[0, -1]]
    assert not any("missing" in note for note in profile.notes)


@pytest.mark.parametrize("device", [-2, 1 << 16, 5 << 24, 1 << 62])
def test_an_impossible_device_number_is_refused(path: Path, device: int) -> None:
    nsys_database(path, kernels=[Kernel(start=0, end=1), Kernel(start=0, end=1, device=device)])
    with pytest.raises(InputError, match=f"rank3.sqlite: one of its kernels has the device number {device}, expected"):
        load_profile(path)


def test_device_numbers_that_agree_in_their_lower_bits_are_not_one_lane(path: Path) -> None:
    nsys_database(path, kernels=[Kernel(start=0, end=1, device=number) for number in (0, 255, 256, (1 << 16) - 1)])
    assert len(load_profile(path, limits=Limits(max_lanes=4)).kernels) == 4
    with pytest.raises(InputError, match=r"has 4 \(process, device\) pairs"):
        load_profile(path, limits=Limits(max_lanes=3))
