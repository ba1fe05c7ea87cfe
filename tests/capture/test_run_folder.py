"""The run folder is new, and there is room in it."""

from __future__ import annotations

import shutil
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from types import SimpleNamespace

import pytest

from gapfinder.capture.folder import new_run_folder, write_whole
from gapfinder.capture.space import check_space, expected_need
from gapfinder.errors import InputError

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def test_two_runs_in_one_second_have_two_folders(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: new_run_folder(None, name="my train!", now=NOW), range(8)))
    assert len(set(made)) == 8
    first = Path("gapfinder-runs/2026-03-04_050607-my-train")
    assert set(made) == {first, *(first.with_name(f"{first.name}-{number}") for number in range(2, 9))}


def test_p53_p54_a_folder_is_made_with_those_above_it_and_one_with_files_is_refused(tmp_path):
    folder = tmp_path / "a" / "b"
    assert new_run_folder(folder, name="x", now=NOW) == folder
    with pytest.raises(InputError, match="is not empty"):
        new_run_folder(folder, name="x", now=NOW)
    (tmp_path / "file").touch()
    with pytest.raises(InputError, match="cannot make the run folder"):
        new_run_folder(tmp_path / "file" / "c", name="x", now=NOW)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "run.json"
    write_whole(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_whole(path, "new\ud800")
    assert [(entry.name, entry.read_text()) for entry in tmp_path.iterdir()] == [("run.json", "old")]


@pytest.mark.parametrize(
    ("free", "warnings", "is_refused"),
    [(10**12, 0, False), (9 * 10**8, 1, False), (10**8, 0, True)],
)
def test_room_is_asked_for_before_the_start(tmp_path, monkeypatch, free, warnings, is_refused):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    need = expected_need(ranks=8, steps=30)
    if is_refused:
        with pytest.raises(InputError, match=r"100\.0 MB free, and a capture needs at least 300\.0 MB"):
            check_space(tmp_path, need=need)
    else:
        assert len(check_space(tmp_path, need=need)) == warnings


def test_the_need_grows_with_ranks_and_steps():
    one, more = expected_need(ranks=1, steps=30), expected_need(ranks=8, steps=30)
    # 30 steps of 30,000 events: 35 bytes each while it runs, 85 in report and export, over 50 MB of base
    assert (one.temporary, one.kept) == (50_000_000 + 31_500_000, 50_000_000 + 76_500_000)
    assert more.kept - 50_000_000 == 8 * (one.kept - 50_000_000)
    assert expected_need(ranks=1, steps=None).kept > one.kept
