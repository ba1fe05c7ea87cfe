"""What travels between processes is small, whole, and holds nothing of the report that it was measured from."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from profiles import NCCL, K, profile

from gapfinder.analysis import join_collectives, join_reports, measure_report
from gapfinder.analysis.intervals import Intervals
from gapfinder.budget import Budget, Window
from gapfinder.cluster.measuring import Measured
from gapfinder.cluster.packing import pack, unpack
from gapfinder.load import load_profile
from gapfinder.model import Step
from gapfinder.render import render_json
from gapfinder.settings import Settings

SAMPLES = Path(__file__).parents[2] / "sample_profiles"
int64s = st.integers(-(2**63), 2**63 - 1)


@pytest.mark.parametrize("state", ["data_starved", "fsdp", "pipeline", "slow_rank"])
def test_joining_after_the_journey_gives_the_same_bytes(state):
    settings = Settings(min_gap_ns=10_000)
    report = measure_report(load_profile(SAMPLES / f"{state}.sqlite"), settings=settings)
    arrived = unpack(pack(report))
    assert render_json(join_reports([arrived], settings=settings)) == render_json(
        join_reports([report], settings=settings)
    )
    for one, other in zip(
        *(join_collectives([r], settings=settings)[1].items() for r in (arrived, report)), strict=True
    ):
        assert one[1].equals(other[1])


@given(values=st.lists(int64s | st.integers(0, 50), max_size=30))
def test_any_times_arrive_as_they_left(values):
    times = np.array(values, np.int64)
    arrived = unpack(pack(Intervals(times, times[::-1])))
    assert arrived.starts.dtype == arrived.ends.dtype == np.int64
    assert arrived.starts.tolist() == values
    assert arrived.ends.tolist() == values[::-1]


@pytest.mark.parametrize("count", [0, 1, 15, 16, 40])
def test_any_number_of_results_arrive_with_what_is_in_them(count):
    spans = (Window(start_ns=at, end_ns=at + 2**40) for at in range(count))
    budget = Budget(**dict.fromkeys((field.name for field in fields(Budget)), 5))
    steps = tuple(
        Step(name=f"step {at.start_ns}", number=7, window=at, budget=budget, overlap_ratio=None) for at in spans
    )
    mixed = (*steps, budget, *steps)
    arrived = unpack(pack(Measured(reports=steps, left_out=mixed)))
    assert (arrived.reports, arrived.left_out) == (steps, mixed)


def training(collectives: int, *, kernels: int) -> list[K]:
    """Collectives of 0.2 to 0.4 ms, one a ms, each with so many kernels before it: all of it with holes between."""
    rng = np.random.default_rng(5)
    rows = []
    for at in range(0, collectives * 1_000_000, 1_000_000):
        edges = np.sort(rng.integers(at, at + 500_000, 2 * kernels)).tolist()
        rows += [K(*edge) for edge in zip(edges[::2], edges[1::2], strict=True)]
        late, early = rng.integers(100_000, size=2).tolist()
        rows.append(K(at + 500_000 + late, at + 900_000 - early, NCCL, stream=9))
    return rows


def test_a_report_travels_as_a_few_bytes_for_each_collective():
    settings = Settings(min_gap_ns=1_000)
    few, many = (
        len(pack(measure_report(profile(*training(count, kernels=2)), settings=settings))) for count in (500, 4_500)
    )
    assert many - few < 4_000 * 24


def test_kernels_and_holes_that_no_communication_meets_travel_as_nothing():
    settings = Settings(min_gap_ns=1_000)
    few, many = (
        len(pack(measure_report(profile(*training(500, kernels=kernels)), settings=settings))) for kernels in (2, 12)
    )
    assert abs(many - few) < 500
