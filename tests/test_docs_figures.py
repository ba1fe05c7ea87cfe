"""Figures of README.md, CHANGELOG.md and docs/ that follow from others, from tables, or from what a benchmark is made for."""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing

import pytest
from documents import ROOT, SPELLED, telling, words

from gapfinder.analysis import compare_hosts
from gapfinder.budget import Budget
from gapfinder.cluster import memory
from gapfinder.cost import Operation, bus_factor, exact_factor
from gapfinder.errors import InconclusiveError
from gapfinder.estimate.memory import Dtype
from gapfinder.load import unpack
from gapfinder.load.limits import DEFAULT_LIMITS
from gapfinder.scrub import redact
from gapfinder.settings import Settings
from gapfinder.units import parse_bandwidth, parse_count
from gapfinder.upload import client
from sample_profiles.build import build_profile

GB = 10**9
BENCHMARKS = {path.stem: path.read_text(encoding="utf-8") for path in (ROOT / "benchmarks").glob("*.py")}


def constant(name: str, program: str) -> str:
    """What a benchmark sets a name to, read from its source: the benchmarks are no package."""
    (value,) = re.findall(rf"^{name} = (.+?)(?:  #.*)?$", BENCHMARKS[program], re.MULTILINE)
    return value


WINDOWS = constant("WINDOWS, COLUMNS", "dashboard").partition(",")[0]
LENGTHS = SPELLED[constant("ZOOMS", "dashboard").count(",") + 1]
GPUS = int(constant("GPUS, STEPS, LAYERS", "cluster").partition(",")[0])
(REPORTS,) = map(int, re.findall(r'\("reports", ([0-9]+)\)', BENCHMARKS["cluster"]))
PARTS = SPELLED[sum(name.endswith("_ns") and name != "window_ns" for name in Budget.__dataclass_fields__)]

TOLD = [
    ("README.md", f"(one GPU as one process uses it) is one of {PARTS}: compute only,"),
    ("docs/meaning.md", f"belongs to exactly one of {PARTS} parts"),
    *((name, f"the sum of the {PARTS} parts") for name in ("docs/json.md", "docs/history.md", "docs/diff.md")),
    ("docs/json.md", f"all its lanes, {SPELLED[compare_hosts._FEWEST_LANES]} or more, are slow in most steps"),
    ("docs/json.md", f"with {SPELLED[compare_hosts._FEWEST_PEERS]} groups of hosts or more: `slow-nic`"),
    ("docs/commands.md", f"the first connection within {SPELLED[client._CONNECTED_WITHIN_S]} seconds, it ends at once"),
    ("docs/scrub.md", f"of fewer than {SPELLED[redact._SHORTEST_WORD]} letters, or called `root`"),
    ("docs/meaning.md", "2 (n - 1) / n for an all-reduce of n ranks"),
    ("docs/diff.md", f'"Blanks under {Settings().min_gap_ns // 1000} µs"'),
    ("docs/performance.md", f"less than {constant('ENOUGH', 'cluster')} times as fast as one process"),
    ("docs/performance.md", f"one job of {GPUS * REPORTS} GPUs in {REPORTS} reports"),
    (
        "docs/performance.md",
        f"answering {WINDOWS} random windows of each of {LENGTHS} lengths for {GPUS} and for 64 lanes",
    ),
    ("docs/scale.md", f"simulates one job of {REPORTS} hosts with {GPUS} GPUs each"),
    ("CHANGELOG.md", f"a report that would take more than {memory.MOST_MEMORY // GB} GB"),
    ("CHANGELOG.md", f"Ranges and marks with more than {DEFAULT_LIMITS.max_texts:,} different texts"),
    ("CHANGELOG.md", f"more than {DEFAULT_LIMITS.max_names:,} different names"),
    ("CHANGELOG.md", f"unpack to {unpack._MOST_TIMES} times its size and more than {unpack._NOT_SMALL >> 30} GiB"),
    ("CHANGELOG.md", f"nor passes it as zero: it ends with {InconclusiveError.exit_code}."),
]


@telling(TOLD)
def test_documents_tell_the_numbers_of_the_code(name, sentence):
    assert sentence in words(name)


def test_the_factor_of_an_all_reduce():
    assert [bus_factor(Operation.ALL_REDUCE, n) for n in (2, 8)] == [pytest.approx(2 * (n - 1) / n) for n in (2, 8)]


def test_a_host_of_the_documented_names_has_two_dots():
    assert "`.cluster` with two dots or more" in words("docs/scrub.md")
    assert "hosts with a single dot" in words("docs/scrub.md")
    texts = [redact.Redactor().text(name.encode()) for name in ("on node.cluster", "on node.of.cluster")]
    assert texts == ["on node.cluster", "on <host-1>"]


def test_the_check_in_ci_is_as_many_lines_as_is_told():
    ((number, block),) = re.findall(
        r"## In CI, in (\w+) lines\n\n```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL
    )
    assert SPELLED[len(block.splitlines())] == number


def test_bandwidths_and_sizes_of_the_estimate():
    text = words("docs/estimate.md")
    ((bits, data),) = re.findall(r"A link of ([0-9]+) Gb/s carries ([0-9]+) GB/s", text)
    assert parse_bandwidth(f"{bits}Gb/s") == int(data) * GB
    ((cards, whole, share),) = re.findall(
        r"where the ([0-9]+) cards of a node share one network card of ([0-9]+) Gb/s, write `([0-9.]+Gb/s)`", text
    )
    assert int(cards) * parse_bandwidth(share) == parse_bandwidth(f"{whole}Gb/s")
    ((count, dtype, size),) = re.findall(r"`--parameters (\w+) --dtype (\w+)` are ([0-9]+) GB", text)
    assert parse_count(count) * Dtype(dtype).bytes_per_parameter == int(size) * GB


def test_how_much_more_the_third_stage_sends():
    """Two all-gathers and a reduce-scatter, in place of one of each."""
    gathered, scattered = (exact_factor(name, 8) for name in (Operation.ALL_GATHER, Operation.REDUCE_SCATTER))
    more = float((2 * gathered + scattered) / (gathered + scattered))
    assert f"stage 3 communicates {more} times as much as 1 and 2" in words("docs/doctor.md")
    assert f"ZeRO, 7.2: {({1.5: 'half as much again'})[more]} |" in words("docs/estimate.md")


def test_an_analysis_in_sums_is_what_the_table_says():
    text = words("docs/performance.md")
    ((one, ten),) = re.findall(
        r"an analysis of a million kernels is ([0-9]+) in this table and one of ten million ([0-9]+)", text
    )
    for kernels, told in (("1,000,000", one), ("10,000,000", ten)):
        (scan,) = re.findall(rf"\| {kernels} kernels: three columns of [^|]+ \| ([0-9.]+) s of CPU", text)
        (analysis,) = re.findall(rf"\| {kernels} kernels: analyze, text \| [0-9.]+ s, ([0-9.]+) s of CPU", text)
        assert f"{float(analysis) / float(scan):.0f}" == told


def test_how_much_of_the_large_report_is_kept_whole(tmp_path):
    """Communication is kept whole, and no other kernels; the large report repeats such a step."""
    (told,) = re.findall(r"kept whole of it is ([0-9.]+) % of the kernels", words("docs/scale.md"))
    path = tmp_path / "deep.sqlite"
    build_profile("healthy", path, steps=1, ranks=2, layers=int(constant("LAYERS", "analyze")))
    with closing(sqlite3.connect(path)) as connection:
        ((share,),) = connection.execute(
            "SELECT avg(value LIKE 'nccl%') FROM CUPTI_ACTIVITY_KIND_KERNEL JOIN StringIds ON id = shortName"
        )
    assert f"{100 * share:.1f}" == told


def test_the_projection_is_that_of_the_measured_job():
    text = words("docs/scale.md")
    ((ranks, nodes),) = re.findall(r"projection to ([0-9,]+) ranks on ([0-9]+) nodes", text)
    ((times, each, whole, spread, workers, times_again, joined),) = re.findall(
        r": ([0-9]+) times ([0-9]+) s, that is ([0-9]+) s of CPU for measuring, or ([0-9]+) s on ([0-9]+) workers; then "
        r"([0-9]+) times ([0-9.]+) s at most, less than a minute",
        text,
    )
    ((alone, first),) = re.findall(
        r"\| one after the other \| [0-9.]+ s \| ([0-9.]+) s .*?\| 2 workers \| [0-9.]+ s \| ([0-9.]+) s", text
    )
    assert int(nodes) == int(times) * REPORTS == int(ranks.replace(",", "")) // GPUS
    assert (int(each), float(joined), times) == (int(float(alone)), float(first), times_again)
    assert int(whole) == pytest.approx(int(times) * int(each), rel=0.02)
    assert int(spread) == round(int(whole) / int(workers))
    assert int(times) * float(joined) < 60
