"""What a comparison says: of the samples what was planted, of real captures what is true of their rows."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from functools import cache
from pathlib import Path

import analyses
import pytest
from analysis_values import MS
from snapshots import finding_total, lane_of, simulated, snapshot_of, steps_of_ms, without_steps

from gapfinder.compare.comparable import Aspect
from gapfinder.compare.diff import diff
from gapfinder.compare.measured import measure
from gapfinder.compare.snapshot import CollectiveTotal, Snapshot
from gapfinder.explanations import KernelTotal
from gapfinder.render.difference import DIFFERENCE_RENDERERS, render_difference_json, render_difference_text
from gapfinder.settings import Settings

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "sample_profiles"
REAL = ROOT / ".." / "shared" / "profiles"

every_format = pytest.mark.parametrize("form", DIFFERENCE_RENDERERS)


@cache
def measured(path: Path) -> Snapshot:
    return measure([path], settings=Settings())


def verdict(before: Path, after: Path) -> str:
    """The paragraph below the names, on one line."""
    difference = diff(measured(before), measured(after), names=("A", "B"))
    return " ".join(render_difference_text(difference).split("\n\n")[1].split())


def test_the_same_twice_is_as_long_as_before():
    said = verdict(SAMPLES / "healthy.sqlite", SAMPLES / "healthy.sqlite")
    assert said.startswith("A step takes as long as before: 38.36 ms, was 38.36 ms (0.0 %).")
    assert "New" not in said
    assert "Gone" not in said


@pytest.mark.parametrize(
    ("state", "planted"),
    [
        ("broken_overlap", "New: Gradients are synchronised only after backward [overlap-broken]"),
        ("data_starved", "New: The GPU waits for data [data-starved]"),
        ("slow_rank", "New: Rank 3 is slower than the others, which wait [straggler]"),
        ("fsdp", "New: Gathers of sharded parameters (ZeRO, FSDP) are exposed [zero-overlap-off]"),
        ("pipeline", "New: Pipeline stages wait for their neighbours [pipeline-bubble]"),
        ("cuda_graphs", "31.26 ms a step now run in CUDA graphs traced whole"),
        ("one_stream", "New: Communication runs on the stream of the compute [single-stream]"),
    ],
)
def test_the_planted_change_comes_right_after_the_length_of_the_step(state, planted):
    first, rest = verdict(SAMPLES / "healthy.sqlite", SAMPLES / f"{state}.sqlite").split(" %). ", 1)
    assert re.fullmatch(r"A step takes [0-9.]+ ms instead of 38\.36 ms \([+-][0-9.]+", first)
    assert rest.startswith(planted)


def test_a_mended_training_says_what_is_gone():
    said = verdict(SAMPLES / "broken_overlap.sqlite", SAMPLES / "healthy.sqlite")
    assert said.startswith("A step takes 38.36 ms instead of 46.00 ms (-16.6 %). Gone: Gradients are synchronised only")
    assert "Overlap 0.0 % → 94.8 %." in said
    assert "-7.642 ms of exposed communication" in said


@pytest.mark.skipif(not REAL.is_dir(), reason="the shared real profiles are not there")
def test_the_real_pair_says_what_its_rows_say():
    """By plain SQL on both files: the same 27 kernels, each as long as before (the ratios of their mean lengths are 0.98 to
    1.03), 1.07 to 1.13 times as often in the same time; SendRecv shorter by 29 % on average, for it waits less."""
    said = verdict(REAL / "h100x2_sendrecv_before.sqlite", REAL / "h100x2_sendrecv_after.sqlite")
    assert said.startswith("The GPUs compute 85.2 % of the time instead of 76.0 % (+9.1 points).")
    assert "12.4 % more of the same compute kernels, which run as long as before; none is new and none is gone." in said
    assert "Idle time 17.4 % → 9.6 %" in said
    assert "blanks under 100.0 µs 10.3 % → 4.7 %" in said
    assert "SendRecv: waiting 3.8 % → 2.3 % and transfer 1.8 % → 1.9 % of the time." in said


def hostile() -> tuple[Snapshot, Snapshot]:
    """Two snapshots in which every text is hostile."""
    text = analyses.HOSTILE
    lane = replace(lane_of(steps_of_ms({"compute": 60.0, "hidden": 20.0, "exposed": 15.0, "idle": 5.0})), label=text)
    lane = replace(lane, gpu_name=text, sync_calls={text: (3, MS)}, overlap_ratio=None, overlap_reason=text)
    collective = CollectiveTotal(
        operation=text,
        communicator=text,
        instances=3,
        total_ns=9 * MS,
        hidden_ns=0,
        exposed_ns=9 * MS,
        wait_ns=None,
        transfer_ns=None,
        bytes_total=None,
    )
    kernel = KernelTotal(name=text, is_communication=False, count=3, total_ns=50 * MS)
    finding = replace(finding_total("code", lost_ms=90, lane=0), title=text)
    bare = snapshot_of(replace(lane, sync_calls={}), digest="a")
    full = snapshot_of(lane, digest="b", findings=(finding,))
    return bare, replace(full, collectives=(collective,), kernels=(kernel,), nsys_version=text)


@every_format
@pytest.mark.parametrize("has_steps", [True, False])
def test_no_text_is_markup_or_control(form, has_steps):
    before, after = hostile() if has_steps else map(without_steps, hostile())
    name = analyses.HOSTILE
    report = DIFFERENCE_RENDERERS[form](diff(before, after, names=(name, name), allowed=Aspect))
    assert report.endswith("\n")
    assert report.encode()
    assert not re.search(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e]", report)
    if form in ("markdown", "html"):
        assert "<img" not in report.replace(r"\<img", "")


@every_format
def test_the_same_comparison_gives_the_same_bytes(form):
    one, other = simulated(seed=1), simulated(seed=2)
    assert DIFFERENCE_RENDERERS[form](diff(one, other)) == DIFFERENCE_RENDERERS[form](diff(one, other))


def test_json_tells_unknown_idle_time_as_null():
    one = simulated(seed=1)
    blind = replace(one, digest="b", lanes=tuple(replace(lane, idle_reason="not captured") for lane in one.lanes))
    told = json.loads(render_difference_json(diff(one, blind)))
    assert told["before"]["budget"]["idle_ns"] > 0
    assert told["after"]["budget"]["idle_ns"] is None
    assert told["causes"] == []


def test_text_says_unknown_and_not_a_number_where_idle_time_was_not_measured():
    one = simulated(seed=1)
    blind = replace(one, digest="b", lanes=tuple(replace(lane, idle_reason="not captured") for lane in one.lanes))
    text = render_difference_text(diff(one, blind))
    assert re.search(r"^idle +[0-9.]+ ms +unknown +unknown +unknown$", text, re.MULTILINE)
    assert "idle time and causes were not measured: not captured" in " ".join(text.split())


def test_noise_of_under_one_percent_is_no_change():
    one, other = simulated(seed=1, noise=0.001), simulated(seed=2, noise=0.001)
    assert render_difference_text(diff(one, other)).split("\n\n")[1].startswith("A step takes as long as before")
