"""Every real profile against numbers that an independent event sweep computed from its raw rows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gapfinder.analysis import analyze
from gapfinder.load import load_profile
from gapfinder.model import Lane
from gapfinder.settings import Settings

PROFILES = Path(__file__).parents[2] / ".." / "shared" / "profiles"
EXPECTED = PROFILES / "expected.json"
MIN_GAPS = {"gaps_ge_10us": 10_000, "gaps_ge_100us": 100_000, "gaps_ge_1ms": 1_000_000}

pytestmark = pytest.mark.skipif(not EXPECTED.exists(), reason="the shared real profiles are not there")


def expected() -> dict[str, dict[str, dict]]:
    return json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}


def lanes_of(file: str, *, min_gap_ns: int) -> dict[str, Lane]:
    analysis = analyze([load_profile(PROFILES / file)], settings=Settings(min_gap_ns=min_gap_ns))
    return {f"{lane.pid}:{lane.device}": lane for lane in analysis.lanes}


@pytest.mark.parametrize("file", sorted(expected()))
def test_every_lane_equals_the_sweep_to_the_nanosecond(file: str) -> None:
    lanes = {min_gap: lanes_of(file, min_gap_ns=min_gap) for min_gap in MIN_GAPS.values()}
    wanted = expected()[file]
    assert lanes[100_000].keys() == wanted.keys()
    for key, numbers in wanted.items():
        lane = lanes[100_000][key]
        budget = lane.budget
        assert {
            "start": lane.window.start_ns,
            "end": lane.window.end_ns,
            "window": budget.window_ns,
            "busy": budget.busy_ns,
            "idle": budget.idle_ns,
            "compute": budget.compute_ns,
            "comm": budget.communication_ns,
            "overlap": budget.hidden_ns,
            "exposed": budget.exposed_ns,
        } == {
            name: numbers[name]
            for name in ("start", "end", "window", "busy", "idle", "compute", "comm", "overlap", "exposed")
        }
        for name, min_gap in MIN_GAPS.items():
            gaps = lanes[min_gap][key].gaps
            assert [gaps.count, gaps.total_ns] == numbers[name]
        if numbers["graph"] == 0:
            assert lane.overlap_ratio == numbers["overlap_ratio"]
        else:
            assert lane.overlap_ratio is None


@pytest.mark.parametrize("file", sorted(expected()))
def test_the_six_parts_add_up_to_the_window(file: str) -> None:
    for lane in lanes_of(file, min_gap_ns=1).values():
        for budget in (lane.budget, *(step.budget for step in (lane.steps.items if lane.steps else ()))):
            parts = (
                budget.compute_only_ns, budget.hidden_ns, budget.exposed_ns,
                budget.copy_only_ns, budget.graph_only_ns, budget.idle_ns,
            )  # fmt: skip
            assert (sum(parts), min(parts) >= 0) == (budget.window_ns, True)
        # With a shortest gap of 1 ns the gaps are all of the idle time and the holes all that is not compute or graph.
        assert lane.gaps.total_ns == lane.budget.idle_ns
        holes = lane.budget.exposed_ns + lane.budget.copy_only_ns + lane.budget.idle_ns
        assert sum(lane.causes.values()) == lane.holes.total_ns
        if lane.budget.graph_only_ns == 0:
            assert lane.holes.total_ns == holes
