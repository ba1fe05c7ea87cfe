"""Real exports, when their folder is there: all rows, by SQLite's own arithmetic, and nothing read the slow way."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gapfinder.load import find_profiles, load_profile

FOLDER = Path(__file__).parents[2] / ".." / "shared" / "profiles"
PROFILES = find_profiles([FOLDER]) if FOLDER.is_dir() else []
SOURCES = {
    "kernels": ("CUPTI_ACTIVITY_KIND_KERNEL",),
    "copies": ("CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"),
    "graphs": ("CUPTI_ACTIVITY_KIND_GRAPH_TRACE",),
    "calls": ("CUPTI_ACTIVITY_KIND_RUNTIME",),
}

if not PROFILES:
    pytest.skip(f"no real profiles in {FOLDER}", allow_module_level=True)


@pytest.mark.parametrize("path", PROFILES, ids=lambda path: path.stem)
def test_a_real_profile_is_read_whole_and_fast(path: Path) -> None:
    profile = load_profile(path)
    frames = {
        "kernels": profile.kernels,
        "copies": profile.copies,
        "graphs": profile.graphs,
        "calls": profile.read_calls(),
    }
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)) as db:
        tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for name, frame in frames.items():
            rows = [0, 0, 0]
            for table in tables.intersection(SOURCES[name]):
                sums = db.execute(
                    f'SELECT count(*), total(start % 65536), total("end" % 65536) FROM {table}'
                ).fetchone()
                rows = [whole + int(part) for whole, part in zip(rows, sums, strict=True)]
            assert [len(frame), (frame["start"] % 65536).sum(), (frame["end"] % 65536).sum()] == rows
            assert not frame.isna().to_numpy().any()
    assert not any("row by row" in note for note in profile.notes)
    assert "<unnamed>" not in profile.kernels["name"].cat.categories
