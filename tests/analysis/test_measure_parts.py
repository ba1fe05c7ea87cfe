"""A report that is cut anywhere gives the bytes of one that is measured at once."""

# ruff: noqa: S311 - random reports, no secrets

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from databases import Call, Kernel, nsys_database
from hypothesis import given
from hypothesis import strategies as st
from random_reports import LAST, random_report

from gapfinder.analysis import join_collectives, join_reports, kept_whole, measure_parts, measure_report
from gapfinder.analysis.cuts import windows_between
from gapfinder.analysis.stretches import CountedCalls, Stretch
from gapfinder.budget import ALWAYS, Window
from gapfinder.load import load_profile, open_large, runs
from gapfinder.render import render_json
from gapfinder.settings import CountCopies, Settings

SAMPLES = Path(__file__).parents[2] / "sample_profiles"
REAL = Path(__file__).parents[3] / "shared" / "profiles"
FINE = Settings(min_gap_ns=500)


def at_once(path: Path, settings: Settings) -> str:
    return render_json(join_reports([measure_report(load_profile(path), settings=settings)], settings=settings))


def in_parts(path: Path, settings: Settings, times: list[int]) -> str:
    large = open_large(path, whole=kept_whole(settings))
    assert large is not None
    return render_json(join_reports([measure_parts(large, settings=settings, times=times)], settings=settings))


def span(path: Path) -> tuple[int, int]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute('SELECT min(start), max("end") FROM CUPTI_ACTIVITY_KIND_KERNEL').fetchone()


def random_times(path: Path, *, seed: int, count: int = 3) -> list[int]:
    dice = random.Random(seed)
    return sorted(dice.randrange(*span(path)) for _ in range(count))


@pytest.fixture
def small_runs(monkeypatch):
    """Read small files in as many runs as large ones are."""
    return lambda size: monkeypatch.setattr(runs, "_RUN_BYTES", size)


def test_uncut_is_at_once(tmp_path):
    path = random_report(tmp_path / "a.sqlite", seed=0)
    expected = at_once(path, FINE)
    assert in_parts(path, FINE, []) == expected
    assert in_parts(path, FINE, [-5, 2 * LAST]) == expected


@pytest.mark.parametrize("seed", range(4))
def test_random_reports_cut_at_random(seed, tmp_path, small_runs):
    small_runs(1_024)
    path = random_report(tmp_path / "a.sqlite", seed=seed)
    assert in_parts(path, FINE, random_times(path, seed=seed)) == at_once(path, FINE)


@pytest.mark.parametrize(
    "choices",
    [
        {"window": (300_000, 1_100_000)},
        {"step_range": (1, 3)},
        {"gpus": (1,)},
        {"count_copies": CountCopies.PEER, "top": 2},
        {"communication_patterns": ("gemm",), "compute_patterns": ("relu",)},
    ],
    ids=lambda choices: next(iter(choices)),
)
def test_whatever_is_asked_for(choices, tmp_path, small_runs):
    small_runs(1_024)
    path = random_report(tmp_path / "a.sqlite", seed=21)
    settings = Settings(min_gap_ns=500, **choices)
    assert in_parts(path, settings, random_times(path, seed=21)) == at_once(path, settings)


@pytest.mark.parametrize("state", ["cuda_graphs", "data_starved"])
def test_sample_profiles_cut_at_random(state, small_runs):
    small_runs(150_000)
    path = SAMPLES / f"{state}.sqlite"
    settings = Settings(min_gap_ns=10_000)
    assert in_parts(path, settings, random_times(path, seed=3)) == at_once(path, settings)


@pytest.mark.skipif(not REAL.is_dir(), reason="the real profiles are not here")
@pytest.mark.parametrize("name", ["job128_ranks_0_1", "two_devices_0_and_3"])
def test_real_profiles_cut_at_random(name, small_runs):
    small_runs(150_000)
    path = REAL / f"{name}.sqlite"
    settings = Settings(min_gap_ns=10_000)
    assert in_parts(path, settings, random_times(path, seed=4)) == at_once(path, settings)


def test_single_collectives_are_the_same(small_runs):
    small_runs(150_000)
    path = SAMPLES / "fsdp.sqlite"
    large = open_large(path, whole=kept_whole(FINE))
    assert large is not None
    cut = measure_parts(large, settings=FINE, times=random_times(path, seed=5))
    uncut = measure_report(load_profile(path), settings=FINE)
    (_, expected), (_, found) = (join_collectives([one], settings=FINE) for one in (uncut, cut))
    assert len(expected)
    assert found.equals(expected)


def test_a_call_that_launches_in_several_parts_counts_once(tmp_path):
    kernels = [Kernel(start=at, end=at + 90, correlation=1) for at in range(0, 1_000, 100)]
    path = nsys_database(
        tmp_path / "a.sqlite", kernels=kernels, calls=[Call(start=-9, end=-2, correlation=1, name="cudaGraphLaunch")]
    )
    large = open_large(path, whole=kept_whole(FINE))
    assert large is not None
    (lane,) = measure_parts(large, settings=FINE, times=[150, 450, 750]).lanes
    assert (lane.lane.kernels, lane.lane.host.launches, lane.lane.host.launch_ns) == (10, 1, 7)


def test_cuts_are_inside_the_next_kernel_that_computes(tmp_path):
    kernels = [
        Kernel(start=0, end=40),
        Kernel(start=50, end=51),
        Kernel(start=60, end=100, name="ncclKernel"),
        Kernel(start=70, end=80),
        Kernel(start=10, end=20, device=1),
    ]
    large = open_large(nsys_database(tmp_path / "a.sqlite", kernels=kernels), whole=kept_whole(FINE))
    assert large is not None
    (first, second) = sorted(large.cuts_from(-1))
    assert large.cuts_from(0) == {first: 1, second: 11}
    assert large.cuts_from(5) == {first: 71, second: 11}
    assert large.cuts_from(11) == {first: 71}
    assert large.cuts_from(71) == {}


def test_windows_of_a_lane_without_a_cut_are_one_and_empty_ones():
    lanes = {(1, 0): [5, 9], (2, 0): [7]}
    windows = windows_between([{(1, 0): 5, (2, 0): 7}, {(1, 0): 9}], lanes=lanes)
    edges = {lane: [(one[lane].start_ns, one[lane].end_ns) for one in windows] for lane in lanes}
    assert edges[1, 0] == [(ALWAYS.start_ns, 5), (5, 9), (9, ALWAYS.end_ns)]
    assert edges[2, 0] == [(ALWAYS.start_ns, 7), (7, ALWAYS.end_ns), (ALWAYS.end_ns, ALWAYS.end_ns)]


def test_what_begins_before_the_window_is_counted_in_its_first_stretch():
    window = Window(start_ns=100, end_ns=200)
    assert Stretch.of(window, between=Window(start_ns=0, end_ns=100)) is None
    first = Stretch.of(window, between=Window(start_ns=90, end_ns=150))
    second = Stretch.of(window, between=Window(start_ns=150, end_ns=ALWAYS.end_ns))
    assert first is not None
    assert second is not None
    assert (first.inside, first.begun_in) == (
        Window(start_ns=100, end_ns=150),
        Window(start_ns=ALWAYS.start_ns, end_ns=150),
    )
    assert (second.inside, second.begun_in) == (
        Window(start_ns=150, end_ns=200),
        Window(start_ns=150, end_ns=ALWAYS.end_ns),
    )


@given(batches=st.lists(st.sets(st.integers(0, 99)), max_size=6))
def test_calls_are_counted_the_first_time_only(batches):
    counted, seen = CountedCalls(100), set[int]()
    for batch in batches:
        numbers = np.array(sorted(batch), np.int64)
        assert counted.first_time(numbers).tolist() == [number not in seen for number in sorted(batch)]
        seen |= batch
