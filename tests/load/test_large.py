"""A report that is read in parts: each part holds what matters in its stretch, and the file may lie as it likes."""

# ruff: noqa: S311 - random order, no secrets

from __future__ import annotations

import random

import numpy as np
import pytest
from databases import Call, Copy, Kernel, global_pid, global_tid, nsys_database

from gapfinder.errors import InputError
from gapfinder.load import Whole, load_profile, open_large, runs
from gapfinder.load.large import LargeProfile
from gapfinder.load.times import LongestSum

LANE = (global_pid(100), 0)
ALWAYS = {LANE: (-(2**63), 2**63 - 1)}
WHOLE = Whole(
    kernels=lambda names: [name.startswith("nccl") for name in names],
    calls=lambda names: [name.startswith("cudaGraphLaunch") for name in names],
    launches=lambda names: ["Launch" in name for name in names],
)


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Write a report and open it in runs of a page."""
    monkeypatch.setattr(runs, "_RUN_BYTES", 4_096)

    def make(**tables: object) -> LargeProfile | None:
        return open_large(nsys_database(tmp_path / "a.sqlite", **tables), whole=WHOLE)

    return make


def rows(profile, what: str = "kernels") -> list[tuple[int, str]]:
    frame = profile.kernels if what == "kernels" else profile.read_calls()
    return list(zip(frame["start"].tolist(), frame["name"].tolist(), strict=True))


def test_a_part_of_all_time_is_the_report(opened, tmp_path):
    kernels = [Kernel(start=100 * n, end=100 * n + 50, correlation=n, name=f"k{n % 7}") for n in range(600)]
    calls = [Call(start=100 * n - 30, end=100 * n - 20, correlation=n, name=f"c{n % 3}") for n in range(600)]
    large = opened(kernels=kernels, calls=calls)
    part, whole = large.part(ALWAYS, margin=0), load_profile(tmp_path / "a.sqlite")
    assert part.kernels.reset_index(drop=True).equals(whole.kernels)
    assert part.read_calls().reset_index(drop=True).equals(whole.read_calls())
    assert large.calls == 600


def test_what_is_kept_whole(opened):
    kernels = [
        Kernel(start=10, end=20, correlation=1),
        Kernel(start=30, end=40, correlation=2),
        Kernel(start=50, end=60, correlation=3, name="ncclKernel"),
        Kernel(start=70, end=80, correlation=3, name="ncclKernel"),
        Kernel(start=0, end=0, name="lost"),
        Kernel(start=90, end=95, correlation=4),
        Kernel(start=96, end=99, correlation=4),
    ]
    calls = [
        Call(start=1, end=2, correlation=1),
        Call(start=3, end=4, correlation=2),
        Call(start=5, end=6, correlation=3),
        Call(start=7, end=8, correlation=9, name="cudaGraphLaunch_v1"),
        Call(start=9, end=9, correlation=4, name="cudaGraphLaunch_v1"),
        Call(start=8, end=9, correlation=10, tid=101),
    ]
    large = opened(kernels=kernels, calls=calls)
    first_of_name, unusable, first_of_graph = (10, "gemm"), (0, "lost"), (90, "gemm")
    communication = [(50, "ncclKernel"), (70, "ncclKernel")]
    assert rows(large.profile) == [first_of_name, *communication, unusable, first_of_graph]
    launch, graph = "cudaLaunchKernel_v7000", "cudaGraphLaunch_v1"
    assert rows(large.profile, "calls") == [(1, launch), (5, launch), (7, graph), (9, graph), (8, launch)]


def test_a_part_has_launches_from_long_before_calls_around_it_and_the_last_before(opened):
    kernels = [Kernel(start=1_000 * n, end=1_000 * n + 500, correlation=n) for n in range(1, 400)]
    launches = [Call(start=n, end=n + 1, correlation=n) for n in range(1, 400)]
    others = [
        Call(start=100_000, end=100_010, correlation=1_001, name="a", tid=7),
        Call(start=180_000, end=180_010, correlation=1_002, name="a", tid=7),
        Call(start=150_000, end=210_010, correlation=1_003, name="long", tid=8),
        Call(start=199_900, end=199_950, correlation=1_004, name="a", tid=9),
        Call(start=201_500, end=201_600, correlation=1_005, name="a", tid=9),
        Call(start=202_090, end=202_095, correlation=1_006, name="a", tid=9),
        Call(start=300_000, end=300_001, correlation=1_007, name="a", tid=9),
    ]
    large = opened(kernels=kernels, calls=[*launches, *others])
    part = large.part({LANE: (200_200, 202_000)}, margin=100)
    assert {start for start, _ in rows(part)} == {1_000, 200_000, 201_000}
    calls = part.read_calls()
    found = set(calls["correlation"].tolist())
    assert {200, 201} <= found
    assert {1_002, 1_003, 1_004, 1_005, 1_006} <= found
    assert not {50, 100, 150, 300} & found
    assert np.array_equal(calls.index, np.sort(calls.index))


def test_calls_up_to_a_launch_that_began_after_its_kernel(opened):
    kernels = [Kernel(start=10, end=20, correlation=1), Kernel(start=30, end=60, correlation=2)]
    calls = [
        Call(start=5, end=6, correlation=1),
        Call(start=500, end=501, correlation=8, tid=101),
        Call(start=900, end=901, correlation=2),
        *(Call(start=500 - n, end=501, correlation=100 + n, tid=101) for n in range(1, 300)),
    ]
    part = opened(kernels=kernels, calls=calls).part({LANE: (25, 60)}, margin=100)
    assert len(part.read_calls()) == len(calls)


def test_calls_up_to_a_late_launch_beside_a_process_that_has_no_further_cut(opened):
    kernels = [Kernel(start=10, end=60, correlation=1), Kernel(start=10, end=60, correlation=1, pid=200)]
    late, other = Call(start=900, end=901, correlation=1), Call(start=5, end=6, correlation=1, pid=200)
    between = [Call(start=400 + n, end=401 + n, correlation=9) for n in range(3)]
    large = opened(kernels=kernels, calls=[late, other, *between])
    part = large.part({LANE: (0, 40), (global_pid(200), 0): (0, 2**63 - 1)}, margin=100)
    assert sorted(start for start, _ in rows(part, "calls")) == [5, 400, 401, 402, 900]


def test_threads_that_slept_while_another_worked_are_left_out(opened):
    calls = [Call(start=100, end=110, correlation=1), Call(start=250, end=260, correlation=2, tid=101)]
    sleeps = [(50, 90), (90, 200), (220, 300)]
    large = opened(
        kernels=[Kernel(start=300, end=400, correlation=1)],
        calls=calls,
        tables={
            "OSRT_API": (
                ("start", "end", "globalTid", "nameId"),
                [(start, end, global_tid(100), 1) for start, end in sleeps] + [(0, 999, global_tid(100, 55), 1)],
            ),
        },
    )
    assert large.profile.read_os_calls()["start"].tolist() == [50, 90]


@pytest.mark.parametrize("is_shuffled", [False, True])
def test_a_report_is_cut_where_about_as_many_rows_begin(is_shuffled, opened):
    kernels = [Kernel(start=100 * n, end=100 * n + 50, correlation=n) for n in range(2_000)]
    if is_shuffled:
        random.Random(1).shuffle(kernels)
    large = opened(kernels=kernels)
    assert large.boundaries(10_000) == []
    times = large.boundaries(500)
    counts = np.diff([0, *(time // 100 for time in times), 2_000])
    assert 4 <= len(counts) <= 5
    assert counts.max() < 900


@pytest.mark.parametrize(
    "tables",
    [
        {"kernels": [Kernel(start=1, end=2), Kernel(start=3, end=4, device=None)]},
        {"kernels": [Kernel(start=n, end=n + 1, device=device) for n, device in enumerate((0, 1, None, None), 1)]},
        {"kernels": [Kernel(start=1, end=2)], "copies": [Copy(start=3, end=4, device=None)]},
        {
            "tables": {
                "CUPTI_ACTIVITY_KIND_KERNEL": (
                    ("start", "end", "globalPid", "deviceId TEXT", "demangledName"),
                    [(1, 2, global_pid(100), 0, 1)],
                )
            }
        },
    ],
    ids=[
        "kernel without device",
        "kernels that no device can be told of",
        "copy without device",
        "not stored as nsys does",
    ],
)
def test_what_can_only_be_read_whole(tables, opened):
    assert opened(**tables) is None


def test_a_report_without_kernels_is_one_part(opened):
    large = opened(copies=[Copy(start=3, end=9)])
    assert large.boundaries(1) == []
    assert large.cuts_from(0) == {}
    assert len(large.part(ALWAYS, margin=0).copies) == 1


def test_a_table_of_calls_without_rows(opened):
    columns = ("start", "end", "globalTid", "correlationId", "nameId")
    large = opened(kernels=[Kernel(start=3, end=9)], tables={"CUPTI_ACTIVITY_KIND_RUNTIME": (columns, [])})
    assert large.calls == 0
    assert large.part({LANE: (4, 5)}, margin=0).read_calls().empty


def test_durations_are_added_up_over_runs():
    total = LongestSum(table="T", name="a.sqlite")
    half = np.array([1 << 61], np.int64)
    total.add(np.zeros(1, np.int64), half)
    with pytest.raises(InputError, match="durations"):
        total.add(-half, half)


def test_a_usable_kernel_is_kept_of_names_whose_first_is_not(opened):
    """Else a process would seem to have no kernel with times."""
    large = opened(kernels=[Kernel(start=0, end=0), *(Kernel(start=10 * k, end=10 * k + 5) for k in range(1, 900))])
    assert [row[0] for row in rows(large.profile)] == [0, 10]
