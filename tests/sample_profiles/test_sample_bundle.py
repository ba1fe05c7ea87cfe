"""The bundled profiles: their bytes, their rows, and that rows and truth tell the same story."""

from __future__ import annotations

import csv
import io
import json
import shutil
import sqlite3
import subprocess
from collections import Counter
from contextlib import closing
from itertools import pairwise

import pytest

from sample_profiles.build import BUNDLE, drifted
from sample_profiles.states import STATES

OPS = {
    "KERNEL": "(SELECT value FROM StringIds WHERE id = demangledName)",
    "MEMCPY": "'copy'",
    "MEMSET": "'copy'",
    "GRAPH_TRACE": "'graph'",
}

needs_nsys = pytest.mark.skipif(shutil.which("nsys") is None, reason="nsys is not on PATH")


def query(state, sql):
    with closing(sqlite3.connect(f"file:{BUNDLE / state}.sqlite?mode=ro", uri=True)) as connection:
        return connection.execute(sql).fetchall()


def tables(state):
    return {name for (name,) in query(state, "SELECT name FROM sqlite_master WHERE type = 'table'")}


def ops(state):
    """Every GPU row: (globalPid, stream, start, end, correlation, kind)."""
    rows = []
    for table, name in OPS.items():
        if f"CUPTI_ACTIVITY_KIND_{table}" in tables(state):
            rows += query(
                state,
                f'SELECT globalPid, streamId, start, "end", correlationId, {name} FROM CUPTI_ACTIVITY_KIND_{table}',
            )
    return [(*row[:5], kind(row[5])) for row in rows]


def kind(name):
    if name in ("copy", "graph"):
        return name
    return "communication" if name.startswith("nccl") else "compute"


def lanes(state):
    by_process = {}
    for row in ops(state):
        by_process.setdefault(row[0], []).append(row)
    return by_process


def truth(state):
    return json.loads((BUNDLE / f"{state}.truth.json").read_text(encoding="utf-8"))["lanes"]


def measure(rows, start, end):
    """Charge each elementary interval to a part by asking every row whether it covers it."""
    edges = sorted({start, end, *(t for row in rows for t in row[2:4] if start < t < end)})
    parts = Counter()
    for left, right in pairwise(edges):
        running = {row[5] for row in rows if row[2] <= left and right <= row[3]}
        parts[part(running)] += right - left
    return parts


def part(running):
    match "compute" in running, "communication" in running, "graph" in running, "copy" in running:
        case True, True, _, _:
            return "hidden_ns"
        case True, False, _, _:
            return "compute_only_ns"
        case False, True, _, _:
            return "exposed_ns"
        case False, False, True, _:
            return "graph_only_ns"
        case False, False, False, True:
            return "copy_only_ns"
    return "idle_ns"


@pytest.fixture(params=STATES)
def state(request):
    return request.param


def test_bundled_files_are_what_the_program_builds():
    assert drifted(BUNDLE) == []


def test_files_are_small(state):
    assert (BUNDLE / f"{state}.sqlite").stat().st_size < 1_000_000
    assert (BUNDLE / f"{state}.truth.json").stat().st_size < 200_000


def test_truth_is_what_the_rows_say(state):
    rows = lanes(state)
    assert len(truth(state)) == len(rows) == 8
    for lane in truth(state):
        own = rows[2**48 + lane["pid"] * 2**24]
        start, end = lane["window"]["start_ns"], lane["window"]["end_ns"]
        assert (start, end) == (min(row[2] for row in own), max(row[3] for row in own))
        parts = measure(own, start, end)
        assert {name: ns for name, ns in lane["parts"].items() if ns} == parts
        assert sum(lane["parts"].values()) == end - start
        for hole in lane["holes"]:
            inside = measure(own, hole["start_ns"], hole["end_ns"])
            assert inside == {name: hole[name] for name in ("idle_ns", "exposed_ns", "copy_only_ns") if hole[name]}


def test_step_windows_join_and_parts_add_up(state):
    for lane in truth(state):
        steps = lane["steps"]
        assert [step["number"] for step in steps] == list(range(6))
        assert steps[0]["window"]["start_ns"] == lane["window"]["start_ns"]
        for before, after in pairwise(steps):
            assert before["window"]["end_ns"] == after["window"]["start_ns"]
        for step in steps:
            length = step["window"]["end_ns"] - step["window"]["start_ns"]
            assert 20_000_000 < length < 80_000_000
            assert sum(step["parts"].values()) == length


def test_every_hole_is_charged_to_the_last_ns(state):
    for lane in truth(state):
        for hole in lane["holes"]:
            shares = hole["evidence"]["shares_ns"]
            assert sum(shares.values()) == hole["end_ns"] - hole["start_ns"] >= 100_000
            assert shares[hole["cause"]] == max(shares.values())
            assert "unknown" not in shares


def test_gaps_are_the_idle_stretches_between_rows(state):
    rows = lanes(state)
    for lane in truth(state):
        latest, lengths = lane["window"]["start_ns"], []
        for row in sorted(rows[2**48 + lane["pid"] * 2**24], key=lambda row: row[2]):
            lengths.append(row[2] - latest)
            latest = max(latest, row[3])
        gaps = [length for length in lengths if length >= lane["gaps"]["min_gap_ns"]]
        assert (lane["gaps"]["count"], lane["gaps"]["total_ns"]) == (len(gaps), sum(gaps))
        assert lane["gaps"]["longest_ns"] == max(gaps, default=0)


def test_launch_begins_before_its_operation(state):
    calls = query(state, "SELECT globalTid & ~16777215, correlationId, start FROM CUPTI_ACTIVITY_KIND_RUNTIME")
    began = {(process, correlation): start for process, correlation, start in calls}
    assert len(began) == len(calls)
    for process, _, start, end, correlation, _ in ops(state):
        assert began[process, correlation] < start < end


def test_operations_of_a_stream_do_not_overlap(state):
    streams = {}
    for process, stream, start, end, _, _ in ops(state):
        streams.setdefault((process, stream), []).append((start, end))
    for spans in streams.values():
        for before, after in pairwise(sorted(spans)):
            assert before[1] <= after[0]


def test_collectives_end_together(state):
    rows = [row for row in ops(state) if row[5] in ("communication", "graph")]
    members = Counter(row[3] for row in rows)
    expected = {2} if state == "pipeline" else {8}
    assert set(members.values()) == expected


def test_correlation_ids_repeat_between_processes(state):
    numbers = Counter(row[4] for row in ops(state))
    assert max(numbers.values()) > 1


def test_clock_starts_away_from_zero(state):
    assert min(row[2] for row in ops(state)) > 10_000_000_000


def test_nothing_of_the_environment_is_exported(state):
    assert not {"META_DATA_CAPTURE", "TARGET_INFO_SYSTEM_ENV"} & tables(state)


def test_domain_numbers_differ_between_processes(state):
    rows = query(state, "SELECT text, group_concat(DISTINCT domainId) FROM NVTX_EVENTS WHERE eventType = 75 GROUP BY 1")
    assert sorted(dict(rows)["NCCL"]) == [",", "1", "2"]


def test_library_names_are_registered_and_script_names_are_text(state):
    rows = query(
        state,
        "SELECT DISTINCT domainId > 0, text IS NULL, textId IS NULL FROM NVTX_EVENTS WHERE eventType = 59 AND coalesce(text, '') != 'garbage collection'",
    )
    assert sorted(rows) == [(0, 0, 1), (1, 1, 0)]


def test_each_process_marks_its_rank(state):
    rows = query(state, 'SELECT text FROM NVTX_EVENTS WHERE eventType = 34 AND "end" IS NULL ORDER BY globalTid')
    assert rows == [(f"rank={n} local_rank={n} world_size=8 host=node0",) for n in range(8)]


def test_backward_is_launched_by_another_thread_than_the_steps():
    steps = query("healthy", "SELECT DISTINCT globalTid FROM NVTX_EVENTS WHERE text LIKE 'step %'")
    launching = query("healthy", "SELECT DISTINCT globalTid FROM CUPTI_ACTIVITY_KIND_RUNTIME")
    assert len(steps) == 8
    assert len(launching) == 16


def overlap(state):
    found = truth(state)
    hidden = sum(lane["parts"]["hidden_ns"] for lane in found)
    return hidden / sum(lane["communication_ns"] for lane in found)


def hole_time(state, *, ranks=range(8)):
    """Share of all hole time by cause, on the named ranks."""
    times = Counter()
    for lane in truth(state):
        if lane["rank"] in ranks:
            for hole in lane["holes"]:
                times[hole["cause"]] += hole["end_ns"] - hole["start_ns"]
    return {cause: ns / times.total() for cause, ns in times.items()}


def test_healthy_hides_its_communication():
    assert overlap("healthy") > 0.9
    lane = truth("healthy")[0]
    assert lane["holes"][0]["cause"] == "warm_up"
    assert all(hole["end_ns"] - hole["start_ns"] < 1_000_000 for hole in lane["holes"][1:])


def test_broken_overlap_hides_nothing():
    assert overlap("broken_overlap") == 0
    assert hole_time("broken_overlap") == {"exposed_communication_transfer": 1.0}


def test_data_starved_waits_for_batches_and_writes_one_checkpoint():
    assert hole_time("data_starved")["data_loading"] > 0.85
    causes = [[hole["cause"] for hole in lane["holes"]].count("checkpoint") for lane in truth("data_starved")]
    assert causes == [1, 0, 0, 0, 0, 0, 0, 0]


def test_slow_rank_makes_the_others_wait():
    assert hole_time("slow_rank", ranks=(0, 1, 2, 4, 5, 6, 7)) == {"exposed_communication_wait": 1.0}
    assert hole_time("slow_rank", ranks=(3,)) == {"exposed_communication_transfer": 1.0}
    late = {hole["evidence"]["late_rank"] for lane in truth("slow_rank") for hole in lane["holes"] if lane["rank"] != 3}
    assert late == {3}


def test_fsdp_exposes_some_communication_and_churns_memory():
    assert 0.7 < overlap("fsdp") < 0.9
    assert {cause for cause, share in hole_time("fsdp").items() if share > 0.1} == {
        "exposed_communication_transfer",
        "allocator",
    }


def test_pipeline_has_bubbles():
    assert hole_time("pipeline")["pipeline_bubble"] > 0.8


def test_cuda_graphs_hide_what_they_run():
    assert {lane["overlap_ratio"] for lane in truth("cuda_graphs")} == {None}
    assert hole_time("cuda_graphs")["host_to_device_copy"] > 0.8
    assert not any("gemm" in name for (name,) in query("cuda_graphs", "SELECT value FROM StringIds"))


def test_one_stream_cannot_overlap():
    assert overlap("one_stream") == 0
    assert {row[1] for row in ops("one_stream")} == {7}
    causes = {"synchronisation", "host_code", "garbage_collection", "profiler_overhead"}
    assert causes < set(hole_time("one_stream"))


@pytest.mark.nsys
@needs_nsys
def test_nsys_counts_the_kernels(state, tmp_path):
    rows = run_nsys(state, tmp_path, "stats", "gpukernsum")
    (expected,) = query(state, 'SELECT count(*), sum("end" - start) FROM CUPTI_ACTIVITY_KIND_KERNEL')
    assert sum(int(row["Instances"]) for row in rows) == expected[0]
    assert sum(int(row["Total Time (ns)"]) for row in rows) == expected[1]


@pytest.mark.nsys
@needs_nsys
@pytest.mark.parametrize("state", ["healthy", "data_starved", "fsdp"])
def test_nsys_finds_the_same_longest_gap_on_each_gpu(state, tmp_path):
    longest = {}
    for row in run_nsys(state, tmp_path, "analyze", "gpu-starv:rows=1000:gap=1"):
        device = int(row["Device ID"])
        longest[device] = max(longest.get(device, 0), int(row["Duration (ns)"]))
    assert longest == {lane["device"]: lane["gaps"]["longest_ns"] for lane in truth(state)}


def run_nsys(state, tmp_path, command, report):
    copy = shutil.copy(BUNDLE / f"{state}.sqlite", tmp_path)
    done = subprocess.run(
        ["nsys", command, "-q", "-r", report, "--format", "csv", str(copy)], capture_output=True, text=True, check=True
    )
    return list(csv.DictReader(io.StringIO(done.stdout.strip())))
