"""Numbers in documents are those of the code, and those that the program measures in the bundled profiles."""

from __future__ import annotations

import math
import re
import sqlite3
import statistics
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest

from gapfinder.analysis import analyze
from gapfinder.analysis.host_time import CLOSE_CALLS_NS
from gapfinder.capture import space as capture_space
from gapfinder.compare import noise
from gapfinder.compare.history import file as history_file
from gapfinder.doctor import nvidia_smi, space, versions
from gapfinder.explanations import Cause
from gapfinder.load import load_profile
from gapfinder.model import Analysis
from gapfinder.settings import Settings

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "sample_profiles"
ROW = re.compile(r"^\| `(\w+)` \| ([0-9.]+) ms \| (?:([0-9.]+) %|unknown) \|", re.MULTILINE)
STATES = ROW.findall((SAMPLES / "README.md").read_text(encoding="utf-8"))


def words(name: str) -> str:
    """A document with single spaces, so that a sentence is found wherever its lines break."""
    return " ".join((ROOT / name).read_text(encoding="utf-8").split())


@cache
def measured(state: str) -> Analysis:
    return analyze([load_profile(SAMPLES / f"{state}.sqlite")], settings=Settings())


def mean_step_ms(analysis: Analysis) -> float:
    return statistics.fmean(lane.steps.mean_ns for lane in analysis.lanes) / 1e6


def test_every_sample_is_described():
    assert {state for state, _, _ in STATES} == {path.stem for path in SAMPLES.glob("*.sqlite")}


@pytest.mark.parametrize(("state", "step", "overlap"), STATES, ids=[state for state, _, _ in STATES])
def test_the_samples_are_as_they_are_described(state, step, overlap):
    analysis = measured(state)
    assert f"{mean_step_ms(analysis):.1f}" == step
    ratio = analysis.total.overlap_ratio
    assert (ratio is None) == (overlap == "")
    if ratio is not None:
        assert 100 * ratio == pytest.approx(float(overlap), abs=0.05)


def test_the_readme_tells_the_overlap_of_the_healthy_sample():
    (told,) = re.findall(r"where ([0-9.]+) % of the communication is hidden", words("README.md"))
    assert f"{100 * measured('healthy').total.overlap_ratio:.1f}" == told


def exposed_ms_per_step(state: str) -> float:
    steps = [step for lane in measured(state).lanes for step in lane.steps.items]
    return statistics.fmean(step.budget.exposed_ns for step in steps) / 1e6


def test_the_wait_of_the_broken_sample():
    (told,) = re.findall(r"About ([0-9.]+) ms of exposed transfer in every step", words("sample_profiles/README.md"))
    assert exposed_ms_per_step("broken_overlap") == pytest.approx(float(told), abs=0.05)
    (told,) = re.findall(r"every step waits ([0-9]+) ms for it", words("README.md"))
    assert f"{exposed_ms_per_step('broken_overlap'):.0f}" == told


def test_the_bubbles_of_the_pipeline_sample():
    (told,) = re.findall(r"\(`pipeline_bubble`\) for ([0-9]+) % of the time", words("sample_profiles/README.md"))
    lanes = measured("pipeline").lanes
    bubbles = sum(lane.causes.get(Cause.PIPELINE_BUBBLE, 0) for lane in lanes)
    assert f"{100 * bubbles / sum(lane.budget.window_ns for lane in lanes):.0f}" == told


def test_the_gaps_of_kernels_alone_in_the_graph_sample():
    (told,) = re.findall(r"Kernel rows alone would say ([0-9]+) % idle", words("sample_profiles/README.md"))
    with closing(sqlite3.connect(SAMPLES / "cuda_graphs.sqlite")) as connection:
        shares = connection.execute(
            'SELECT 1.0 - 1.0 * sum("end" - start) / (max("end") - min(start)) '
            "FROM CUPTI_ACTIVITY_KIND_KERNEL GROUP BY globalPid"
        ).fetchall()
    assert len(shares) == 8
    assert {f"{100 * share:.0f}" for (share,) in shares} == {told}


GB = 10**9
TOLD = [
    ("docs/meaning.md", f"Both are reported from `--min-gap` ({Settings().min_gap_ns // 1000} µs) upwards"),
    ("docs/meaning.md", f"or between two calls at most {CLOSE_CALLS_NS // 1000} µs apart"),
    ("docs/dashboard.md", f"every stretch of {Settings().min_gap_ns // 1000} µs and more (`min_gap`)"),
    ("docs/check.md", f"with {noise.CONFIDENCE_PERCENT} % confidence: {noise.RESAMPLES:,} times each side's steps"),
    ("docs/history.md", f"Where the file is locked for {history_file._LOCK_SECONDS} s"),
    ("docs/doctor.md", f"is asked once, for {nvidia_smi.SECONDS} s (torch {versions._TORCH_SECONDS} s, nsys"),
    ("docs/doctor.md", f"`/dev/shm`: {space._DOCKER_DEFAULT >> 20} MiB (Docker's default) or less is a failure"),
    ("docs/doctor.md", f"less than {space._SHARED_LITTLE // GB} GB free a warning"),
    ("docs/run.md", f"step {capture_space._EVENTS_PER_STEP:,} events"),
    (
        "docs/run.md",
        f"{capture_space._STREAM_BYTES} bytes each in `TMPDIR`, {capture_space._REPORT_BYTES} in the report",
    ),
    (
        "docs/run.md",
        f"and {capture_space._EXPORT_BYTES} in its export, and {capture_space._BASE // 10**6} MB for the rest",
    ),
    ("docs/run.md", f"less than {capture_space._LEAST // 10**6} MB is refused"),
    ("docs/run.md", f"is counted as {capture_space._STEPS_UNTOLD} of them"),
    ("docs/long-runs.md", f"with 10 s and a stop a day, every {math.sqrt(2 * 10 * 86_400) / 60:.0f} minutes"),
]


@pytest.mark.parametrize(("name", "sentence"), TOLD, ids=[f"{name}-{place}" for place, (name, _) in enumerate(TOLD)])
def test_documents_tell_the_numbers_of_the_code(name, sentence):
    assert sentence in words(name)
