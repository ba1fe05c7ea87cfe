"""The bundled samples: what was planted is found first, and nothing to act on where nothing was planted."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from gapfinder.analysis import analyze
from gapfinder.explanations import Severity
from gapfinder.findings import explained
from gapfinder.load import load_profile
from gapfinder.model import Analysis

SAMPLES = Path(__file__).parents[2] / "sample_profiles"
PLANTED = {
    "broken_overlap": "overlap-broken",
    "data_starved": "data-starved",
    "slow_rank": "straggler",
    "fsdp": "zero-overlap-off",
    "pipeline": "pipeline-bubble",
    "cuda_graphs": "pageable-copies",
    "one_stream": "single-stream",
}


@cache
def told(state: str) -> Analysis:
    return explained(analyze([load_profile(SAMPLES / f"{state}.sqlite")]))


@pytest.mark.parametrize("state", PLANTED)
def test_what_was_planted_is_found_first(state):
    first = told(state).findings[0]
    assert first.code == PLANTED[state]
    assert first.severity is not Severity.INFO


def test_on_the_healthy_sample_there_is_nothing_to_act_on():
    assert {finding.severity for finding in told("healthy").findings} <= {Severity.INFO}


def test_a_straggler_is_named():
    finding = told("slow_rank").findings[0]
    assert (finding.lane, told("slow_rank").lanes[3].rank) == (3, 3)
    assert "compute takes 1.30 times the median" in finding.detail


def test_what_was_planted_beside_it_is_found_as_well():
    codes = {state: {finding.code for finding in told(state).findings} for state in PLANTED}
    assert {"gc-pause", "host-code", "sync-stall"} <= codes["one_stream"]
    assert "launch-bound" not in codes["one_stream"]
    assert "checkpoint-pause" in codes["data_starved"]
    assert "allocator-churn" in codes["fsdp"]
    assert "graph-opaque" in codes["cuda_graphs"]


@pytest.mark.parametrize("state", [*PLANTED, "healthy"])
def test_no_more_is_lost_than_is_blank(state):
    analysis = told(state)
    lost = sum(finding.lost_ns for finding in analysis.findings)
    blank = sum(lane.budget.idle_ns + lane.budget.exposed_ns + lane.budget.copy_only_ns for lane in analysis.lanes)
    assert 0.9 * sum(lane.holes.total_ns for lane in analysis.lanes) <= lost + warm_up(analysis) <= blank


def warm_up(analysis: Analysis) -> int:
    """Time that belongs to no rule."""
    return sum(ns for lane in analysis.lanes for cause, ns in lane.causes.items() if cause in {"warm_up", "unknown"})
