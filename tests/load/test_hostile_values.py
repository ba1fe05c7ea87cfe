"""Values that are of the right type and still not to be taken as they are: endless names, impossible times."""

from __future__ import annotations

import random
import sqlite3
import tracemalloc
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from databases import MARK, Call, Copy, Kernel, Range, nsys_database

from gapfinder.errors import InputError
from gapfinder.load import load_profile

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

KERNEL = "CUPTI_ACTIVITY_KIND_KERNEL"
LONG = "x" * 1_048_575


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "rank3.sqlite"


def refusal(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        load_profile(path).read_calls()
    message = str(caught.value)
    assert message.startswith("rank3.sqlite: ")
    assert message.isprintable()
    return message


def test_long_names_are_cut_visibly_and_stay_different(path: Path) -> None:
    nsys_database(path, kernels=[Kernel(start=k, end=k + 1, name=LONG + end) for k, end in enumerate("aba")])
    names = load_profile(path).kernels["name"].tolist()
    assert names[0] == names[2] != names[1]
    for name in names:
        assert len(name) == 4_096
        assert name.startswith("x" * 4_000)
        assert "… (1,048,576 characters, " in name


@pytest.mark.parametrize("letter", ["x", "ä", "👩"])
def test_a_name_of_just_the_longest_length_stays_whole(path: Path, letter: str) -> None:
    names = [letter * 4_096, letter * 4_097]
    nsys_database(path, kernels=[Kernel(start=k, end=k + 1, name=name) for k, name in enumerate(names)])
    whole, cut = load_profile(path).kernels["name"].tolist()
    assert whole == names[0]
    assert "… (4,097 characters, " in cut


@pytest.mark.parametrize("is_registered", [False, True])
def test_ranges_marks_and_domains_have_no_long_names_either(path: Path, is_registered: bool) -> None:  # noqa: FBT001
    events = [
        Range(start=1, end=2, name=LONG, domain=3, is_registered=is_registered),
        Range(start=1, end=None, name=LONG, domain=3, event_type=MARK, is_registered=is_registered),
    ]
    profile = load_profile(nsys_database(path, ranges=events, domains={(100, 3): LONG}))
    texts = [profile.ranges["name"], profile.ranges["domain"], profile.marks["name"], profile.marks["domain"]]
    assert [len(text.iloc[0]) for text in texts] == [4_096] * 4


def test_long_names_take_no_more_memory_than_one_of_them(path: Path) -> None:
    nsys_database(path, ranges=[Range(start=k, end=k + 1, name=f"{LONG}{k}") for k in range(40)])
    load_profile(path)
    tracemalloc.start()
    try:
        profile = load_profile(path)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert profile.ranges["name"].nunique() == 40
    assert peak < 15 * len(LONG)


@pytest.mark.parametrize(
    "times", [(-(2**62) - 5, 2**62 + 5), (0, 2**63 - 1), (-(2**63) + 1, 9), (2**61 + 1, 2**61 + 2)]
)
def test_times_that_cannot_be_subtracted_are_refused(path: Path, times: tuple[int, int]) -> None:
    start, end = times
    furthest = f"a time of {max(times, key=abs):,} ns"
    nsys_database(path, kernels=[Kernel(start=1, end=2), Kernel(start=start, end=end)])
    assert f"{KERNEL} has {furthest}" in refusal(path)
    for table, rows in (
        ("CUPTI_ACTIVITY_KIND_MEMCPY", {"copies": [Copy(start=start, end=end)]}),
        ("CUPTI_ACTIVITY_KIND_MEMSET", {"copies": [Copy(start=start, end=end, kind=-1)]}),
        ("CUPTI_ACTIVITY_KIND_RUNTIME", {"calls": [Call(start=start, end=end, correlation=1)]}),
        ("NVTX_EVENTS", {"ranges": [Range(start=start, end=end, name="step 1")]}),
    ):
        path.unlink()
        assert f"{table} has {furthest}" in refusal(nsys_database(path, **rows))  # type: ignore[arg-type]


def test_a_mark_too_far_off_is_refused(path: Path) -> None:
    nsys_database(path, ranges=[Range(start=2**62, end=None, name="rank=0", event_type=MARK)])
    assert "NVTX_EVENTS has a time of 4,611,686,018,427,387,904 ns" in refusal(path)


def test_durations_that_cannot_be_added_up_are_refused(path: Path) -> None:
    def load(*kernels: tuple[int, int]) -> None:
        path.unlink(missing_ok=True)
        nsys_database(path, kernels=[Kernel(start=start, end=end) for start, end in kernels])

    load(*[(-(2**60), 2**60)] * 3)
    assert f"{KERNEL} has durations of 6,917,529,027,641,081,856 ns in all" in refusal(path)
    load((-(2**60), 2**60), *[(5, -(2**60))] * 9, (0, 0))
    assert len(load_profile(path).kernels) == 11


def test_times_of_a_clock_that_counts_from_1970_are_read(path: Path) -> None:
    now = 1_767_000_000_000_000_000
    nsys_database(path, kernels=[Kernel(start=0, end=0), *(Kernel(start=now + k, end=now + 10) for k in range(9))])
    assert load_profile(path).kernels["start"].tolist() == [0, *range(now, now + 9)]


@pytest.mark.parametrize("names", ["DROP TABLE StringIds", "DELETE FROM StringIds", "NULL"])
def test_kernels_of_which_no_name_was_captured_are_told(path: Path, names: str) -> None:
    nsys_database(path, kernels=[Kernel(start=0, end=1), Kernel(start=1, end=2, name="nccl")])
    whole = load_profile(path)
    assert whole.has_kernel_names
    with closing(sqlite3.connect(path)) as db:
        db.execute(f"UPDATE {KERNEL} SET demangledName = NULL, shortName = NULL" if names == "NULL" else names)
        db.commit()
    profile = load_profile(path)
    assert not profile.has_kernel_names
    note = "kernel names were not captured, so communication cannot be told from compute"
    assert note in profile.notes
    assert note not in whole.notes


def test_without_kernels_no_name_is_missed(path: Path) -> None:
    profile = load_profile(nsys_database(path, copies=[Copy(start=0, end=1)]))
    assert profile.has_kernel_names
    assert not any("kernel names" in note for note in profile.notes)


def test_a_schema_that_sqlite_itself_cannot_quote_is_refused(path: Path) -> None:
    nsys_database(path, kernels=[Kernel(start=0, end=1)])
    with closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute(f"UPDATE sqlite_master SET name = CAST(x'C441' AS TEXT), sql = 'x' WHERE name = '{KERNEL}'")
        db.commit()
    assert "SQLite cannot read it" in refusal(path)


@pytest.mark.parametrize("order", [1, -1])
def test_of_two_versions_one_is_chosen_whatever_the_order_of_rows(path: Path, order: int) -> None:
    rows = [("EXPORT_PRODUCT_VERSION", "2025.1"), ("EXPORT_PRODUCT_VERSION", "2020.9")][::order]
    nsys_database(path, tables={"META_DATA_EXPORT": (("name TEXT", "value TEXT"), rows)})
    assert load_profile(path).nsys_version == "2025.1"


def test_endless_tables_about_the_capture_are_cut_at_the_same_rows_whatever_their_order(path: Path) -> None:
    warnings = [(2, f"warning {chr(97 + k % 26)}{chr(97 + k // 26 % 26)}{chr(97 + k // 676)}") for k in range(17_000)]
    warnings += [(3, "worse")] * 4_000
    gpus = [(k, f"G{k}", k) for k in range(20_500)]
    seen = set()
    for seed in range(3):
        random.Random(seed).shuffle(warnings)  # noqa: S311
        random.Random(seed).shuffle(gpus)  # noqa: S311
        path.unlink(missing_ok=True)
        nsys_database(path, kernels=[Kernel(start=0, end=1, device=400)], tables=tables_of(warnings, gpus))
        profile = load_profile(path)
        seen.add((profile.notes, tuple(profile.devices["gpu_name"])))
    ((notes, gpu_names),) = seen
    assert '"worse"' in notes[0]
    assert gpu_names == (), "what was cut away is not known"


def tables_of(
    warnings: Sequence[tuple[object, ...]], gpus: Sequence[tuple[object, ...]]
) -> dict[str, tuple[tuple[str, ...], list[tuple[object, ...]]]]:
    return {
        "DIAGNOSTIC_EVENT": (("severity", "text TEXT"), list(warnings)),
        "TARGET_INFO_GPU": (("id", "name TEXT", "cuDevice"), list(gpus)),
    }
