"""The report for programs: its names are a contract, so they are written out here once more."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import analyses
import pytest
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from gapfinder.render import render_json

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion

MEASURED = ["healthy", "explained", "no_communication", "graphs", "one_stream", "hostile", "shared_gpu"]

TOP = [
    "schema_version",
    "source",
    "lanes",
    "total",
    "link",
    "collectives",
    "kernels",
    "collective_steps",
    "step_spreads",
    "stragglers",
    "world_size",
    "clocks",
    "hosts",
    "lane_steps",
    "processes",
    "slow_ranks",
    "findings",
    "coverage",
]
SOURCE = ["files", "nsys_version", "export_schema_version"]
LANE = [
    "file", "pid", "device", "rank", "gpu_name", "shares_gpu_with", "window", "kernels", "ops", "dropped_ops",
    "busy_ns", "idle_ns", "compute_ns", "communication_ns", "hidden_ns", "exposed_ns", "compute_only_ns",
    "copy_only_ns", "graph_only_ns", "overlap_ratio", "overlap_reason", "gaps", "holes", "causes", "steps",
]  # fmt: skip
WINDOW = ["start_ns", "end_ns", "duration_ns"]
GAPS = ["min_gap_ns", "count", "total_ns", "longest_ns"]
HOLES = ["min_gap_ns", "count", "total_ns", "top"]
SEEN = [
    "before", "after", "shares", "call", "call_ns", "nvtx", "launch_delay_ns", "operation", "wait_ns", "transfer_ns",
    "late_lane", "copied_bytes", "copy_bandwidth", "is_pageable",
]  # fmt: skip
COLLECTIVE = [
    "operation", "communicator", "instances", "unmatched", "lanes", "per_step", "bytes_total", "total_ns", "hidden_ns",
    "exposed_ns", "wait_ns", "transfer_ns", "algorithm_bandwidth", "bus_bandwidth", "ideal_ns", "late_lane", "late_share",
    "skew_ns", "ideal_share", "own_share",
]  # fmt: skip
KERNEL = ["name", "is_communication", "count", "total_ns"]
STRAGGLER = ["lane", "steps", "compute_ratio", "launch_delay_ns", "data_ratio", "what_differs", "lost_ns"]
PROCESS = ["file", "pid", "rank", "local_rank", "world_size", "host", "lanes", "steps", "steps_reason"]
HOST_STEPS = ["count", "dropped", "mean_ns", "p50_ns", "p99_ns", "phases", "items"]
HOST_STEP = ["name", "number", "start_ns", "end_ns", "micro_steps", "phases"]
PHASES = ["data loading", "forward", "backward", "optimizer", "checkpoint", "garbage collection", "other"]
SLOW_RANK = ["process", "steps", "own_ratio", "phase", "phase_ns", "lost_ns"]
STRAGGLER = [
    "lane",
    "steps",
    "compute_ratio",
    "launch_delay_ns",
    "data_ratio",
    "what_differs",
    "lost_ns",
    "clock_ratio",
]
FINDING = ["code", "severity", "title", "detail", "advice", "lost_ns"]
HOLE = ["start_ns", "end_ns", "idle_ns", "exposed_ns", "copy_only_ns", "cause", "evidence"]
STEPS = ["count", "dropped", "mean_ns", "p50_ns", "p99_ns", "items"]
STEP = [
    "name", "start_ns", "end_ns", "overlap_ratio", "idle_ns", "exposed_ns", "communication_ns", "hidden_ns",
]  # fmt: skip
LINK = ["bandwidth", "source", "reason"]
COLLECTIVE_STEP = [
    "number", "lanes", "instances", "communication_ns", "hidden_ns", "exposed_ns", "wait_ns", "transfer_ns",
    "overlap_ratio",
]  # fmt: skip
TOTAL = [
    "lanes", "communication_ns", "hidden_ns", "exposed_ns", "idle_ns", "window_ns", "overlap_ratio", "worst_lane",
]  # fmt: skip
COVERAGE = ["kernels", "copies", "graphs", "nvtx", "runtime", "osrt", "notes"]


class Report(SingleFileSnapshotExtension):
    _write_mode = WriteMode.TEXT
    file_extension = "json"


def refuse(constant: str) -> None:
    raise AssertionError(f"{constant} is no JSON")


def document(situation: str) -> Any:
    return json.loads(render_json(analyses.SITUATIONS[situation]()), parse_constant=refuse)


@pytest.mark.parametrize("situation", ["healthy", "explained", "nothing", "idle_unknown", "host_only"])
def test_json_reads_as_before(situation: str, snapshot: SnapshotAssertion) -> None:
    assert render_json(analyses.SITUATIONS[situation]()) == snapshot(extension_class=Report)


@pytest.mark.parametrize("situation", analyses.SITUATIONS)
def test_names_and_their_order_are_those_of_the_contract(situation: str) -> None:
    found = document(situation)
    assert list(found) == TOP
    assert list(found["source"]) == SOURCE
    assert list(found["total"]) == TOTAL
    assert list(found["coverage"]) == COVERAGE
    assert found["schema_version"] == 1
    assert found["link"] is None or list(found["link"]) == LINK
    assert all(list(one) == COLLECTIVE_STEP for one in found["collective_steps"])
    assert all(list(one) == COLLECTIVE for one in found["collectives"])
    assert all(list(one) == KERNEL for one in found["kernels"])
    assert all(list(one) == STRAGGLER for one in found["stragglers"])
    assert all(list(one) == FINDING for one in found["findings"])
    assert all(list(one) == SLOW_RANK for one in found["slow_ranks"])
    for process in found["processes"]:
        assert list(process) == PROCESS
        if process["steps"] is not None:
            assert list(process["steps"]) == HOST_STEPS
            assert all(list(step) == HOST_STEP for step in process["steps"]["items"])
            assert all(list(one["phases"]) == PHASES for one in (process["steps"], *process["steps"]["items"]))
    for lane in found["lanes"]:
        assert list(lane) == LANE
        assert list(lane["window"]) == WINDOW
        assert list(lane["gaps"]) == GAPS
        assert list(lane["holes"]) == HOLES
        for hole in lane["holes"]["top"]:
            assert list(hole) == HOLE
            assert list(hole["evidence"]) == [name for name in SEEN if name in hole["evidence"]]
            assert None not in [hole["evidence"][name] for name in hole["evidence"] if name not in ("before", "after")]
        if lane["steps"] is not None:
            assert list(lane["steps"]) == STEPS
            assert all(list(step) == STEP for step in lane["steps"]["items"])


@pytest.mark.parametrize("situation", MEASURED)
def test_the_parts_add_up_to_the_window(situation: str) -> None:
    for lane in document(situation)["lanes"]:
        parts = ("compute_only_ns", "hidden_ns", "exposed_ns", "copy_only_ns", "graph_only_ns", "idle_ns")
        window = lane["window"]
        assert sum(lane[part] for part in parts) == window["duration_ns"] == window["end_ns"] - window["start_ns"]
        assert lane["busy_ns"] + lane["idle_ns"] == window["duration_ns"]
        assert lane["compute_only_ns"] + lane["hidden_ns"] == lane["compute_ns"]
        assert lane["hidden_ns"] + lane["exposed_ns"] == lane["communication_ns"]
        assert sum(lane["causes"].values()) == lane["holes"]["total_ns"]
        for hole in lane["holes"]["top"]:
            assert hole["idle_ns"] + hole["exposed_ns"] + hole["copy_only_ns"] == hole["end_ns"] - hole["start_ns"]


@pytest.mark.parametrize("situation", MEASURED)
def test_the_total_is_the_sum_of_the_lanes(situation: str) -> None:
    found = document(situation)
    for name in ("communication_ns", "hidden_ns", "exposed_ns", "idle_ns"):
        assert found["total"][name] == sum(lane[name] for lane in found["lanes"])
    assert found["total"]["window_ns"] == sum(lane["window"]["duration_ns"] for lane in found["lanes"])
    assert found["total"]["lanes"] == len(found["lanes"])


def test_times_stay_whole_numbers() -> None:
    text = render_json(analyses.healthy())
    assert '"start_ns": 60280000000,' in text
    assert '"mean_ns": 103333333,' in text


def test_idle_time_that_was_not_measured_is_null_everywhere() -> None:
    found = document("idle_unknown")
    (lane,) = found["lanes"]
    assert lane["idle_ns"] is None
    assert lane["steps"]["items"][0]["idle_ns"] is None
    assert found["total"]["idle_ns"] is None
    assert lane["busy_ns"] == 1_000_000


def test_a_ratio_that_was_not_measured_is_null_with_its_reason() -> None:
    found = document("graphs")
    assert found["lanes"][0]["overlap_ratio"] is None
    assert found["lanes"][0]["overlap_reason"] == "communication may run inside CUDA graphs that were traced whole"
    assert found["total"]["overlap_ratio"] is None


def test_a_structural_zero_is_a_number_with_its_reason() -> None:
    (lane, _) = document("one_stream")["lanes"]
    assert lane["overlap_ratio"] == 0.0
    assert lane["overlap_reason"] == "communication and compute ran on one stream, so they cannot overlap"


def test_without_gpu_work_nothing_is_claimed() -> None:
    found = document("nothing")
    assert found["lanes"] == []
    assert found["total"]["overlap_ratio"] is None
    assert found["total"]["worst_lane"] is None
    assert found["total"]["window_ns"] == 0
    assert len(found["coverage"]["notes"]) == 1


def test_causes_come_largest_first() -> None:
    causes = [list(lane["causes"].items()) for lane in document("healthy")["lanes"]]
    assert causes == [
        [("exposed_communication", 12_000_000), ("copy", 3_000_000)],
        [("exposed_communication", 24_000_000), ("unknown", 5_250_000)],
    ]


def test_any_name_comes_back_as_it_was() -> None:
    text = render_json(analyses.hostile())
    assert text.encode("utf-8")
    found = json.loads(text)
    assert found["lanes"][0]["steps"]["items"][0]["name"] == analyses.HOSTILE
    (hole,) = found["lanes"][1]["holes"]["top"]
    names = ("before", "after", "call", "nvtx", "operation")
    assert {hole["evidence"][name] for name in names} == {analyses.HOSTILE}


def test_what_was_seen_and_found_is_written_as_it_is() -> None:
    found = document("explained")
    loaded = found["lanes"][0]["holes"]["top"][0]
    assert loaded["cause"] == "data_loading"
    assert loaded["evidence"]["shares"] == {"data_loading": 13_000_000}
    assert (loaded["evidence"]["call"], loaded["evidence"]["call_ns"]) == ("poll", 12_000_000)
    assert "operation" not in loaded["evidence"]
    assert list(found["lanes"][0]["holes"]["top"][1]["evidence"]["shares"].items()) == [
        ("exposed_communication_wait", 7_000_000),
        ("exposed_communication_transfer", 4_000_000),
        ("launch_bound", 1_000_000),
    ]
    assert found["findings"][1] == {
        "code": "straggler",
        "severity": "critical",
        "title": "Rank 1 is slower than the others, which wait",
        "detail": "Detail of straggler.",
        "advice": "Change what straggler says.",
        "lost_ns": 7_000_000,
    }
    assert (found["stragglers"][0]["steps"], found["stragglers"][0]["data_ratio"]) == ([4, 5], None)
    assert (found["collectives"][0]["lanes"], found["collectives"][0]["late_share"]) == ([0, 1], 0.75)
