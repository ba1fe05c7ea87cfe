"""Baselines in a folder: names that stay inside it, files that are read with care."""

from __future__ import annotations

import pytest
from snapshots import simulated

from gapfinder.compare import store
from gapfinder.compare.snapshot_json import LARGEST_BYTES, snapshot_to_json
from gapfinder.errors import InputError


@pytest.fixture
def folder(tmp_path):
    for name in ("main", "2026.1"):
        (tmp_path / f"{name}.json").write_text(snapshot_to_json(simulated(seed=1, steps=2, lanes=1)))
    (tmp_path / "notes.txt").write_text("no baseline")
    (tmp_path / "folder.json").mkdir()
    return tmp_path


def test_baselines_are_found_by_name(folder):
    assert store.names(folder) == ["2026.1", "main"]
    assert store.load(folder, "main") == simulated(seed=1, steps=2, lanes=1)
    assert store.names(folder / "nowhere") == []


def test_a_name_that_is_not_there_is_told_with_those_that_are(folder):
    with pytest.raises(InputError, match=r"no baseline 'mian' in .*; there is 2026.1 and main"):
        store.load(folder, "mian")
    with pytest.raises(InputError, match="none yet"):
        store.load(folder / "nowhere", "main")


@pytest.mark.parametrize("name", ["../main", "a/b", "", ".hidden", "-o", "a\x00b", "a b", "x" * 101, "main.json"])
def test_a_name_never_leads_elsewhere(folder, name):
    for use in (store.load, store.remove, store.baseline_file):
        with pytest.raises(InputError, match="not a name"):
            use(folder, name)


def test_a_baseline_is_removed(folder):
    assert store.remove(folder, "main") == folder / "main.json"
    assert store.names(folder) == ["2026.1"]
    with pytest.raises(InputError, match="no baseline 'main'"):
        store.remove(folder, "main")


def test_the_nearest_folder_upwards_is_taken(tmp_path):
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    assert store.default_store(inner) == inner / ".gapfinder" / "baselines"
    (tmp_path / ".gapfinder" / "baselines").mkdir(parents=True)
    assert store.default_store(inner) == tmp_path / ".gapfinder" / "baselines"


def test_files_that_are_no_baseline_are_refused(tmp_path):
    (tmp_path / "binary.json").write_bytes(b"\x80\x04\x95")
    with (tmp_path / "huge.json").open("wb") as huge:
        huge.truncate(LARGEST_BYTES + 1)
    for name, told in {"binary": "not text", "huge": "so it is no baseline", "none": "no such file"}.items():
        with pytest.raises(InputError, match=told):
            store.read_snapshot(tmp_path / f"{name}.json")
