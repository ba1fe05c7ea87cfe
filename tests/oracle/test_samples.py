"""Each bundled sample against the truth that its simulation wrote beside it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from gapfinder.analysis import analyze
from gapfinder.budget import Budget, Window
from gapfinder.load import load_profile
from gapfinder.model import Analysis, Lane
from gapfinder.settings import Settings

SAMPLES = Path(__file__).parents[2] / "sample_profiles"
STATES = sorted(path.name.removesuffix(".truth.json") for path in SAMPLES.glob("*.truth.json"))


@pytest.fixture(params=STATES)
def pairs(request: pytest.FixtureRequest) -> list[tuple[Lane, dict]]:
    """Every lane of a sample with its truth, in order of rank; the first step counts as it does in the truth."""
    truth = json.loads((SAMPLES / f"{request.param}.truth.json").read_text())
    return list(zip(measured(request.param, top=10_000).lanes, truth["lanes"], strict=True))


def measured(state: str, **choices: object) -> Analysis:
    return analyze([load_profile(SAMPLES / f"{state}.sqlite")], settings=Settings(**choices))


def parts(budget: Budget) -> dict[str, int]:
    names = ("compute_only_ns", "hidden_ns", "exposed_ns", "copy_only_ns", "graph_only_ns", "idle_ns")
    return {name: getattr(budget, name) for name in names}


def edges(window: Window) -> dict[str, int]:
    return {"start_ns": window.start_ns, "end_ns": window.end_ns}


def test_there_are_eight_states() -> None:
    assert len(STATES) == 8


def test_budget(pairs: list[tuple[Lane, dict]]) -> None:
    for lane, truth in pairs:
        assert (lane.rank, lane.pid, lane.device) == (truth["rank"], truth["pid"], truth["device"])
        assert edges(lane.window) == truth["window"]
        assert parts(lane.budget) == truth["parts"]
        assert lane.overlap_ratio == truth["overlap_ratio"]


def test_gaps(pairs: list[tuple[Lane, dict]]) -> None:
    for lane, truth in pairs:
        gaps = lane.gaps
        assert {
            "min_gap_ns": gaps.min_gap_ns, "count": gaps.count, "total_ns": gaps.total_ns, "longest_ns": gaps.longest_ns,
        } == truth["gaps"]  # fmt: skip


def test_holes(pairs: list[tuple[Lane, dict]]) -> None:
    for lane, truth in pairs:
        found = sorted((h.start_ns, h.end_ns, h.idle_ns, h.exposed_ns, h.copy_only_ns) for h in lane.holes.top)
        keys = ("start_ns", "end_ns", "idle_ns", "exposed_ns", "copy_only_ns")
        assert found == sorted(tuple(hole[key] for key in keys) for hole in truth["holes"])


def test_steps_after_warm_up(pairs: list[tuple[Lane, dict]]) -> None:
    for lane, truth in pairs:
        assert [(s.name, s.number, edges(s.window), parts(s.budget)) for s in lane.steps.items] == [
            (step["name"], step["number"], step["window"], step["parts"]) for step in truth["steps"][1:]
        ]
        assert lane.steps.dropped == 1


def test_chosen_steps_are_the_sum_of_their_truths() -> None:
    truth = json.loads((SAMPLES / "fsdp.truth.json").read_text())
    for lane, wanted in zip(measured("fsdp", step_range=(2, 4)).lanes, truth["lanes"], strict=True):
        chosen = wanted["steps"][2:4]
        assert [step.number for step in lane.steps.items] == [2, 3]
        assert (lane.window.start_ns, lane.window.end_ns) == (
            chosen[0]["window"]["start_ns"],
            chosen[1]["window"]["end_ns"],
        )
        assert parts(lane.budget) == {name: sum(step["parts"][name] for step in chosen) for name in chosen[0]["parts"]}
