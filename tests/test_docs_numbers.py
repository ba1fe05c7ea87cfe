"""Numbers in documents are those of the code, and those that the program measures in the bundled profiles."""

from __future__ import annotations

import math
import re
import sqlite3
import statistics
from contextlib import closing
from functools import cache

import pytest
from documents import ROOT, SPELLED, telling, words

from gapfinder.analysis import (
    analyze,
    clock_lines,
    collectives,
    compare_hosts,
    idle_causes,
    slow_ranks,
    stragglers,
    tracks,
)
from gapfinder.analysis.host_time import CLOSE_CALLS_NS
from gapfinder.capture import space as capture_space
from gapfinder.capture.session import DEFAULT_WINDOW
from gapfinder.cli import run_report, terminal
from gapfinder.cli.app import commands
from gapfinder.cluster import memory, workers
from gapfinder.compare import noise
from gapfinder.compare.history import file as history_file
from gapfinder.compare.relative import FEWEST_STEPS
from gapfinder.doctor import gpus, nvidia_smi, space, versions
from gapfinder.explanations import Cause
from gapfinder.findings import copied, exposed, lost, speeds
from gapfinder.findings.registry import PAGES
from gapfinder.findings.rules import capture_quality, data_wait, launch_bound, step_time_drift
from gapfinder.load import load_profile
from gapfinder.model import Analysis
from gapfinder.render import render_text
from gapfinder.settings import Settings
from gapfinder.upload import client, sending

SAMPLES = ROOT / "sample_profiles"
ROW = re.compile(r"^\| `(\w+)` \| ([0-9.]+) ms \| (?:([0-9.]+) %|unknown) \|", re.MULTILINE)
STATES = ROW.findall((SAMPLES / "README.md").read_text(encoding="utf-8"))


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


def test_the_readme_tells_the_overlap_that_a_check_looks_at():
    (told,) = re.findall(r"([0-9.]+) % in complete steps, which a check compares", words("README.md"))
    steps = [step.budget for lane in measured("healthy").lanes for step in lane.steps.items]
    hidden, exposed = (sum(getattr(step, name) for step in steps) for name in ("hidden_ns", "exposed_ns"))
    assert f"{100 * hidden / (hidden + exposed):.1f}" == told


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


@pytest.mark.parametrize("state", [state for state, _, _ in STATES])
def test_the_samples_have_as_many_processes_and_steps_as_is_told(state):
    ((processes, steps),) = re.findall(
        r"Each file has ([0-9]+) processes, one GPU each, and ([0-9]+) steps", words("sample_profiles/README.md")
    )
    lanes = measured(state).lanes
    assert [len(lanes), len({(lane.pid, lane.device) for lane in lanes})] == [int(processes)] * 2
    first = 1  # warm-up, which is left out
    assert {lane.steps.count + first for lane in lanes} == {int(steps)}


def test_tables_are_as_wide_as_is_told():
    told = re.findall(
        r"tables of numbers need ([0-9]+) to ([0-9]+) with the bundled profiles", words("docs/commands.md")
    )
    reports = [render_text(measured(state), width=terminal._NARROWEST) for state in ("healthy", "one_stream")]
    assert told == [tuple(str(max(map(len, report.splitlines()))) for report in reports)]


GB = 10**9


def _over(factor: float) -> int:
    """Return by how many per cent a factor is over one."""
    return round(100 * factor) - 100


def _bubble(stages: int, micro_batches: int) -> int:
    """Return the idle share of a pipeline in per cent: each stage waits for the others' first and last micro-batch."""
    return round(100 * (stages - 1) / (micro_batches + stages - 1))


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
    ("docs/commands.md", f"from the beginning of training to step {DEFAULT_WINDOW.end} |"),
    ("docs/commands.md", f"shortest gap and hole that is reported; {Settings().min_gap_ns // 1000}us when not given"),
    ("docs/commands.md", f"how many holes of each lane to keep; {Settings().top} when not given"),
    ("docs/run.md", f"and closes when step {DEFAULT_WINDOW.end} begins"),
    ("docs/run.md", f"Where {run_report._ENOUGH_STEPS} steps or more were seen"),
    ("docs/run.md", f"about the steps from {run_report._SKIPPED_STEPS} on, because the first ones warm up"),
    ("README.md", f"the first {DEFAULT_WINDOW.end} of them are captured"),
    ("README.md", f"about the steps from {run_report._SKIPPED_STEPS} on, is printed"),
    ("CHANGELOG.md", f"from {len(PAGES)} rules and those of plug-ins"),
    ("docs/meaning.md", f"within {tracks.END_SKEW_NS // 1000} µs or {100 // tracks._END_SKEW_SHARE} % of their length"),
    ("docs/meaning.md", f"too short to know it to {clock_lines._DRIFT_IS_KNOWN_PPB // 1000} ppm"),
    ("docs/meaning.md", f"whose own time is {_over(stragglers._OVER_MEDIAN)} % over the median lane's"),
    ("docs/meaning.md", f"a clock {_over(1 / stragglers._LOWER_CLOCK)} % or more under the median lane's"),
    ("docs/meaning.md", f"`own > {slow_ranks._OVER_OTHERS} * others` and"),
    ("docs/meaning.md", f"`own - others >= {slow_ranks._SHARE_OF_STEP} * step`"),
    (
        "docs/meaning.md",
        f"all have own times {_over(compare_hosts.SLOW_OWN)} % over the median lane of the other hosts",
    ),
    ("docs/design.md", f"more than {idle_causes.LAUNCH_LATENCY_NS // 1000} µs after its launch call returned"),
    ("docs/design.md", f"reports of less than {workers._WORTH_PROCESSES // 10**6} MB together are measured"),
    ("docs/scale.md", f"{memory._PER_BYTE} times the size of the SQLite export, and {memory._BASE // 10**6} MB that"),
    ("docs/scale.md", f"would take more than {memory.MOST_MEMORY // GB} GB, or than `--memory`"),
    ("docs/scale.md", f"the estimate is {SPELLED[memory._UNPACKED]} times their size"),
    ("docs/ci.md", f"Under {FEWEST_STEPS} nothing relative is decided"),
    ("docs/check.md", f"Under {FEWEST_STEPS} steps"),
    ("docs/doctor.md", f"below {space._TOO_LITTLE // GB} GB or {space._TOO_FEW_INODES:,} inodes, not there or not"),
    ("docs/doctor.md", f"below {space._LITTLE // GB} GB or {space._FEW_INODES:,} inodes a warning"),
    ("docs/doctor.md", f"or more than {gpus._OWN_MIB // 1024} GiB in use"),
    ("docs/commands.md", f"says nothing for {client.PATIENCE_S:.0f} seconds"),
    ("docs/commands.md", f"every {sending._COMPARED_BYTES_S // 10**6} MB), is tried again for a minute"),
    ("docs/rules.md", f"critical from {100 * lost.CRITICAL_SHARE} %, warning from {100 * lost.WARNING_SHARE} %"),
    ("docs/rules.md", f"on lanes that copy {copied.OFFLOAD_BYTES >> 20} MiB or more"),
    ("docs/rules.md", f"Rows without times ({100 * capture_quality.MANY_DROPPED} % or more)"),
    ("docs/rules.md", f"without their launch call ({100 * capture_quality.MANY_UNLAUNCHED:.0f} %)"),
    ("docs/rules.md", f"profiler overhead ({100 * capture_quality.MUCH_OVERHEAD:.0f} % of the time)"),
    ("docs/rules.md", f"fewer than {capture_quality.FEW_STEPS} complete steps"),
    ("docs/rules.md", f"hole time without a cause ({100 * capture_quality.MUCH_UNKNOWN:.0f} %)"),
    ("docs/rules.md", f"told from {100 * data_wait.MUCH:.0f} % of the step time upwards"),
    ("docs/rules.md", f"made no CUDA call for more than {CLOSE_CALLS_NS // 1000} µs at a time"),
    ("docs/rules.md", f"or between two calls at most {CLOSE_CALLS_NS // 1000} µs apart; longer silence is host-code"),
    ("docs/rules.md", f"gives the GPU less than {launch_bound.TINY_NS // 1000} µs of work on average"),
    ("docs/rules.md", f"takes less than {exposed.SMALL_NS // 1000} µs on average, waiting taken out"),
    ("docs/rules.md", f"computes at least {100 * exposed.INPUT_SPREAD:.0f} % longer than the median lane"),
    ("docs/rules.md", f"against that of the first third, {100 * step_time_drift.DRIFT:.0f} % or more"),
    ("docs/rules.md", f"Ideal times under {speeds.LATENCY_NS // 1000} µs are not judged"),
    ("docs/rules.md", f"of {collectives._FEWEST_ALIKE} or more instances that are alike in size"),
    ("docs/rules.md", f"4 micro-batches leave {_bubble(4, 4)} % of bubble, 16 leave {_bubble(4, 16)} %"),
    ("docs/rules.md", f"A lane is {_over(stragglers._OVER_MEDIAN)} % over the median in most steps"),
    (
        "docs/rules.md",
        f"over it by {_over(slow_ranks._OVER_OTHERS)} % and by {100 * slow_ranks._SHARE_OF_STEP:.0f} % of the step",
    ),
    ("docs/rules.md", f"are {_over(compare_hosts.SLOW_OWN)} % over the median of the other hosts'"),
]


@telling(TOLD)
def test_documents_tell_the_numbers_of_the_code(name, sentence):
    assert sentence in words(name)


WHEN_NOT_GIVEN = re.compile(r"^\| `(--[a-z-]+)[^|]*\|.* (\S+) when not given", re.MULTILINE)
DEFAULTS = [
    (name, option, told)
    for name, section in re.findall(
        r"^## gapfinder (\S+)\n(.*?)(?=^## |\Z)",
        (ROOT / "docs" / "commands.md").read_text(encoding="utf-8"),
        re.MULTILINE | re.DOTALL,
    )
    for option, told in WHEN_NOT_GIVEN.findall(section)
]


def test_what_holds_when_an_option_is_not_given_is_its_default():
    options = {
        (name, flag): option.default
        for name, command in commands.commands.items()
        for option in command.params
        for flag in option.opts
    }
    told = {
        (name, option): said
        for name, option, said in DEFAULTS
        if isinstance(options.get((name, option)), int | float | str)
    }
    assert told == {
        place: f"{options[place]:g}" if isinstance(options[place], float) else str(options[place]) for place in told
    }
    numbers = {place for place, default in options.items() if re.match(r"\d", str(default))}
    assert ("watch", "--drift") in numbers <= told.keys()


MEASURED = [
    ("docs/performance.md", "benchmarks/analyze.py"),
    ("docs/performance.md", "benchmarks/stages.py"),
    ("docs/scale.md", "benchmarks/cluster.py"),
    ("docs/scale.md", "benchmarks/analyze.py"),
    ("docs/annotate.md", "benchmarks/hook.py"),
    ("docs/long-runs.md", "benchmarks/watch.py"),
    ("docs/design.md", "benchmarks/dashboard.py"),
]


@pytest.mark.parametrize(("name", "program"), MEASURED)
def test_measured_figures_tell_the_program_and_the_day(name, program):
    """Times depend on the machine, so no test can repeat them: who reads them is told how, where and when."""
    assert (ROOT / program).is_file()
    blocks = [
        " ".join(block.split())
        for block in (ROOT / name).read_text(encoding="utf-8").replace("\n## ", "\n\f## ").split("\f")
    ]
    told = [block for block in blocks if program in block]
    assert told
    assert any(
        re.search(r"\b20\d\d-\d\d-\d\d\b", block) and re.search(r"\b(CPUs|cores|processors)\b", block) for block in told
    )
