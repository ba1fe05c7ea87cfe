"""How many names a report may have, and that its strings are read only for what has names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from databases import Call, Kernel, Range, nsys_database

from gapfinder.errors import InputError
from gapfinder.load import Limits, Whole, load_profile, open_large, runs
from gapfinder.load.database import Database

if TYPE_CHECKING:
    from pathlib import Path

SAID = "rank3.sqlite: has 4 different names, at most 3 can be"
WHOLE = Whole(
    kernels=lambda names: [False for _ in names],
    calls=lambda names: [False for _ in names],
    launches=lambda names: [False for _ in names],
)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Five kernels of four names, 600 apart, so that no page has more than three of the names."""
    names = ["a", "b", "c", "a", "d"]
    kernels = [Kernel(start=10 * k, end=10 * k + 5, name=names[k // 600]) for k in range(3_000)]
    return nsys_database(tmp_path / "rank3.sqlite", kernels=kernels, calls=[Call(start=1, end=2, correlation=1)])


def test_more_names_than_can_be_are_refused(path: Path) -> None:
    assert len(load_profile(path, limits=Limits(max_names=4)).kernels["name"].cat.categories) == 4
    with pytest.raises(InputError, match=SAID):
        load_profile(path, limits=Limits(max_names=3))


def test_more_texts_of_ranges_than_can_be_are_refused(tmp_path: Path) -> None:
    ranges = [Range(start=k, end=k + 1, name=f"mm, seq = {k % 4}") for k in range(12)]
    path = nsys_database(tmp_path / "rank3.sqlite", kernels=[Kernel(start=0, end=5)], ranges=ranges)
    assert len(load_profile(path, limits=Limits(max_texts=4)).ranges["name"].cat.categories) == 4
    with pytest.raises(InputError, match=SAID):
        load_profile(path, limits=Limits(max_texts=3))


def test_names_of_all_parts_count_together(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runs, "_RUN_BYTES", 4_096)
    large = open_large(path, whole=WHOLE, limits=Limits(max_names=4))
    assert large is not None
    with pytest.raises(InputError, match=SAID):
        open_large(path, whole=WHOLE, limits=Limits(max_names=3))


def test_strings_are_read_only_where_something_has_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Database, "strings", property(lambda _: pytest.fail("read")))
    named = nsys_database(tmp_path / "named.sqlite", kernels=[Kernel(start=0, end=5)])
    with pytest.raises(pytest.fail.Exception, match="read"):
        load_profile(named)
    unnamed = nsys_database(tmp_path / "unnamed.sqlite", kernels=[])
    assert load_profile(unnamed).read_calls().empty
