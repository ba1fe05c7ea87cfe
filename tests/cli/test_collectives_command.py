"""`gapfinder collectives` on a bundled sample: every row adds up, and agrees with what `analyze` says."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from databases import Call, Copy, Kernel, nsys_database

from gapfinder.cli.app import commands
from gapfinder.cluster import task
from gapfinder.load import runs

ROOT = Path(__file__).parents[2]
SAMPLE = ROOT / "sample_profiles" / "slow_rank.sqlite"
RANKS, STEPS, A_STEP = 8, 6, 3


@cache
def run(*words: str) -> Result:
    return CliRunner().invoke(commands, words)


@cache
def table(*words: str, profile: Path = SAMPLE) -> list[dict[str, str]]:
    done = run("collectives", str(profile), "--format", "csv", *words)
    assert (done.exit_code, done.stderr) == (0, "")
    return list(csv.DictReader(io.StringIO(done.stdout)))


@cache
def analyzed() -> dict:
    return json.loads(run("analyze", str(SAMPLE), "--format", "json").stdout)


def total(rows: list[dict[str, str]], column: str) -> int:
    return sum(int(row[column]) for row in rows)


def test_every_collective_is_there_once_for_each_lane():
    rows = table()
    assert Counter(row["instance"] for row in rows) == dict.fromkeys(map(str, range(STEPS * A_STEP)), RANKS)
    assert [int(row["lane"]) for row in rows] == list(range(RANKS)) * (STEPS * A_STEP)
    assert {row["step"] for row in rows} == {"", "1", "2", "3", "4", "5"}
    assert {row["late_lane"] for row in rows} == {"3"}
    assert {(row["bytes"], row["ideal_ns"], row["is_matched"]) for row in rows} == {("", "", "True")}


def test_in_parts_they_are_the_same(monkeypatch):
    expected = run("collectives", str(SAMPLE), "--format", "csv").stdout
    cuts = []
    measure = task.measure_parts

    def watched(large, *, settings, times):
        cuts.extend(times)
        return measure(large, settings=settings, times=times)

    monkeypatch.setattr(task, "MOST_MEMORY", 0)
    monkeypatch.setattr(task, "measure_parts", watched)
    monkeypatch.setattr(task, "rows_at_once", lambda _: 2_000)
    monkeypatch.setattr(runs, "_RUN_BYTES", 150_000)
    assert CliRunner().invoke(commands, ["collectives", str(SAMPLE), "--format", "csv"]).stdout == expected
    assert cuts


def test_a_report_that_cannot_be_read_is_left_out(tmp_path):
    broken = tmp_path / "broken.sqlite"
    broken.write_bytes(SAMPLE.read_bytes()[:100_000])
    result = run("collectives", str(SAMPLE), str(broken), "--format", "csv")
    assert (result.exit_code, result.stdout) == (3, run("collectives", str(SAMPLE), "--format", "csv").stdout)
    first, last = result.stderr.splitlines()
    assert first.startswith("gapfinder: left out: broken.sqlite: is cut off")
    assert last == "gapfinder: error: the report is about 1 of 2 files; see above"
    assert run("collectives", str(broken)).exit_code == 2


def test_wait_and_transfer_add_up_to_each_duration():
    for row in table():
        assert int(row["wait_ns"]) + int(row["transfer_ns"]) == int(row["duration_ns"])
        assert int(row["end_ns"]) - int(row["start_ns"]) == int(row["duration_ns"])
        assert int(row["hidden_ns"]) + int(row["exposed_ns"]) == int(row["duration_ns"])  # all lie in the window
    assert {row["wait_ns"] for row in table() if row["rank"] == "3"} == {"0"}


def test_rows_add_up_to_what_analyze_says():
    (summary,) = analyzed()["collectives"]
    for column in ("hidden_ns", "exposed_ns", "wait_ns", "transfer_ns"):
        assert total(table(), column) == summary[column]  # one stream: the sum is the union
    by_operation = json.loads(run("collectives", str(SAMPLE), "--by", "operation", "--format", "json").stdout)
    assert by_operation["rows"] == [summary]
    (row,) = table("--by", "operation")
    assert {name: row[name] for name in ("operation", "instances", "lanes")} == {
        "operation": "AllReduce",
        "instances": "18",
        "lanes": "0 1 2 3 4 5 6 7",
    }
    assert int(row["exposed_ns"]) == summary["exposed_ns"]


def test_steps_are_sums_over_lanes():
    steps = table("--by", "step")
    assert [(row["number"], row["lanes"], row["instances"]) for row in steps] == [
        (str(n), "8", "3") for n in range(1, 6)
    ]
    of_lanes = [step for lane in analyzed()["lanes"] for step in lane["steps"]["items"]]
    for row in steps:
        own = [step for step in of_lanes if step["name"] == f"step {row['number']}"]
        for column in ("communication_ns", "hidden_ns", "exposed_ns"):
            assert int(row[column]) == sum(step[column] for step in own)
        began = [one for one in table() if one["step"] == row["number"]]
        assert (int(row["wait_ns"]), int(row["transfer_ns"])) == (total(began, "wait_ns"), total(began, "transfer_ns"))
        assert float(row["overlap_ratio"]) == int(row["hidden_ns"]) / int(row["communication_ns"])
    assert json.loads(json.dumps(analyzed()["collective_steps"]))[0]["wait_ns"] == int(steps[0]["wait_ns"])


def test_the_most_exposed_come_whole():
    exposed = Counter[str]()
    for row in table():
        exposed[row["instance"]] += int(row["exposed_ns"])
    rows = table("--limit", "20")
    assert {row["instance"] for row in rows} == {instance for instance, _ in exposed.most_common(2)}
    assert len(rows) == 2 * RANKS
    assert len(table("--limit", "3")) == 3
    assert [row["number"] for row in table("--by", "step", "--limit", "1")] == ["5"]


def test_json_has_the_same_rows_with_null_for_what_is_not_known():
    document = json.loads(run("collectives", str(SAMPLE), "--format", "json").stdout)
    assert (document["by"], document["files"], document["link"]["source"]) == ("instance", [SAMPLE.name], "detected")
    for row, told in zip(document["rows"], table(), strict=True):
        assert {name: "" if value is None else str(value) for name, value in row.items()} == told


def test_text_says_what_could_not_be_measured():
    text = run("collectives", str(SAMPLE), "--limit", "8").stdout
    assert "sizes and bandwidths need NCCL's NVTX payloads" in " ".join(text.split())
    assert "8 of 144 rows shown" in text
    assert text.count("came last") == 1
    assert text.splitlines()[-5].split()[2:5] == ["AllReduce", "rank", "3"]


def test_what_is_alone_is_said(tmp_path):
    kernels = [Kernel(start=0, end=900, name="ncclDevKernel_AllReduce"), Kernel(start=2000, end=2900, device=1)]
    path = nsys_database(tmp_path / "a.sqlite", kernels=kernels)
    assert "alone" in run("collectives", str(path)).stdout
    (row,) = table(profile=path)
    assert [row[name] for name in ("wait_ns", "transfer_ns", "late_lane", "rank", "step")] == [""] * 5


@pytest.mark.parametrize("by", ["instance", "operation", "step"])
@pytest.mark.parametrize("form", ["text", "csv", "json"])
def test_without_communication_there_are_no_rows(by, form, tmp_path):
    path = nsys_database(tmp_path / "a.sqlite", kernels=[Kernel(start=0, end=900)])
    done = run("collectives", str(path), "--by", by, "--format", form)
    assert done.exit_code == (3 if by == "step" else 0)
    assert done.stderr.count("\n") == (1 if by == "step" else 0)
    if form == "text":
        assert done.stdout == "No communication was captured.\n"
    if form == "json":
        assert json.loads(done.stdout)["rows"] == []


@pytest.mark.parametrize("form", ["text", "csv", "json"])
@pytest.mark.parametrize("by", ["instance", "operation", "step"])
def test_communication_that_cannot_be_seen_is_not_none(by, form, tmp_path):
    """Kernels were launched and none was captured: no rows, and not a good end."""
    path = tmp_path / "launched.sqlite"
    nsys_database(
        path,
        copies=[Copy(start=1_000, end=2_000, correlation=2)],
        calls=[
            Call(start=0, end=10, correlation=1),
            Call(start=10, end=20, correlation=2, name="cudaMemcpyAsync_v3020"),
        ],
    )
    done = run("collectives", str(path), "--by", by, "--format", form)
    assert done.exit_code == 3
    assert "communication was not measured: kernels were launched, but none was captured" in done.stderr
    assert "No communication" not in done.stdout


def test_communication_without_steps_is_not_called_none(tmp_path):
    path = tmp_path / "no_steps.sqlite"
    nsys_database(
        path,
        kernels=[
            Kernel(start=0, end=1_000),
            Kernel(start=1_000, end=3_000, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL"),
        ],
    )
    done = run("collectives", str(path), "--by", "step")
    assert (done.exit_code, done.stdout) == (3, "")
    assert "nothing to sum up by step" in done.stderr


def test_control_characters_of_file_names_are_spelled_out(tmp_path):
    """Streams of one number are told apart by file, so that CSV holds a name that a stranger chose."""
    for name, lengths in (("=a\x1b[31m,b.sqlite", (50, 70)), ("plain.sqlite", (50, 90, 20))):
        spans = [(at * 1_000_000, at * 1_000_000 + length * 1_000) for at, length in enumerate(lengths)]
        kernels = [Kernel(start=start, end=end, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL") for start, end in spans]
        nsys_database(tmp_path / name, kernels=kernels)
    for by in ("instance", "operation"):
        target = tmp_path / f"{by}.csv"
        assert run("collectives", str(tmp_path), "--by", by, "--format", "csv", "-o", str(target)).exit_code == 0
        written = target.read_text()
        assert "\x1b" not in written
        communicators = {row["communicator"] for row in csv.DictReader(io.StringIO(written))}
        assert "stream 7 of =a\\x1b[31m,b.sqlite" in communicators
        assert all(one.startswith("stream ") for one in communicators)


def test_a_file_is_written_whole_and_not_over_the_profile(tmp_path):
    output = tmp_path / "collectives.csv"
    assert run("collectives", str(SAMPLE), "--format", "csv", "-o", str(output)).exit_code == 0
    assert list(csv.DictReader(io.StringIO(output.read_text()))) == table()
    again = run("collectives", str(SAMPLE), "-o", str(output))
    assert (again.exit_code, "--force" in again.stderr) == (2, True)
    assert run("collectives", str(SAMPLE), "-o", str(SAMPLE), "--force").exit_code == 2
