"""What sample_profiles/README.md says is planted is what its programs plant, and what a reader should find is found."""

from __future__ import annotations

import json
import re
import sqlite3
from collections import Counter
from contextlib import closing

from documents import ROOT, SPELLED, telling, words
from test_fleet import ROUNDING_NS

from gapfinder.explanations import Cause
from sample_profiles import fabric, fleet, hybrid, job, pipeline, schema, training
from sample_profiles.build import RANKS, STEPS
from sample_profiles.host import QUEUE_DEPTH
from sample_profiles.states import CAPTURE_CLOCK_NS, STATES
from sample_profiles.truth import MIN_GAP_NS

README = "sample_profiles/README.md"
SAMPLES = ROOT / "sample_profiles"
MS, SECOND = 10**6, 10**9
USUAL = job.Job()
STARVED, STREAM = STATES["data_starved"], STATES["one_stream"]
(CHECKPOINT,), (FLUSH, GARBAGE) = STARVED.plants, STREAM.plants
((SLOW, SLOWER),) = STATES["slow_rank"].slowdown.items()
REALLOCATED = " and ".join(map(str, training._REALLOCATING_STEPS))
PER_CENT = {name: f"{value // 10 - 100} %" for name, value in {"rank": SLOWER, "job": job.SLOW_COMPUTE}.items()}
QUARTER = {4.0: "A quarter"}
LEADS = " to ".join(f"{lead / SECOND:.1f}" for lead in fleet._SESSION_LEADS_NS)

TOLD = [
    f"{SPELLED[len(STATES)].capitalize()} small nsys exports of a training on {SPELLED[RANKS]} GPUs",
    f"DDP: {SPELLED[len(training._BUCKETS)]} gradient buckets",
    (
        f"The loader needs {STARVED.loader.batch_ns // MS} ms per batch. "
        f"Rank {CHECKPOINT.rank} writes a checkpoint in step {CHECKPOINT.step}"
    ),
    f"Rank {SLOW} computes {PER_CENT['rank']} slower |",
    f"`cudaFree` and `cudaMalloc` before backward in steps {REALLOCATED} |",
    f"{pipeline.STAGES} stages, {RANKS // pipeline.STAGES} replicas, {pipeline.MICROBATCHES} microbatches, 1F1B",
    f"A profiler flush on rank {FLUSH.rank} (step {FLUSH.step}), a garbage collection on rank {GARBAGE.rank} (step {GARBAGE.step})",
    f"schema {schema.SCHEMA_VERSION} (nsys {schema.PRODUCT_VERSION.rpartition('.')[0]})",
    f"starts at about {CAPTURE_CLOCK_NS // SECOND} s",
    (
        f"# {USUAL.world_size} ranks on {USUAL.hosts} hosts, {USUAL.steps} steps: "
        f"{USUAL.world_size - 1} reports"  # one rank left none
    ),
    (
        f"buckets of {SPELLED[hybrid._LAYERS_A_BUCKET]} layers ({fabric.BUCKET.bytes >> 20} MiB; "
        f"the last {fabric.LAST_BUCKET.bytes >> 20} MiB)"
    ),
    f"a send of {fabric.SEND.bytes >> 20} MiB beside forward",
    f"end up to {fleet._END_JITTER_NS // 1000} µs after the first",
    f"| `slow-node` | host {USUAL.slow_host} | All its GPUs compute {PER_CENT['job']} slower.",
    (
        f"| `slow-gpu` | rank {USUAL.slow_rank} | {PER_CENT['job']} slower alone. The other {SPELLED[USUAL.gpus - 1]} of its "
        f"host wait for it in `node{USUAL.host_of(USUAL.slow_rank)}`"
    ),
    (
        f"| `slow-nic` | host {USUAL.slow_nic} | {QUARTER[job.SLOW_NIC / 1000]} of the bandwidth in the links to the host and "
        f"from it (hosts {USUAL.slow_nic - 1} and {USUAL.slow_nic + 1} have"
    ),
    f"| `missing-rank` | rank {USUAL.missing_rank} |",
    f"| `truncated-report` | rank {USUAL.truncated_rank} |",
    f"is up to {job._MAX_OFFSET_NS // MS} ms off",
    f"is up to {job._MAX_DRIFT_PPB // 1000} ppm too fast",
    f"at its own session start, {LEADS} s before the first step",
    f"give or take {ROUNDING_NS} ns",
    f"gaps and holes of at least {MIN_GAP_NS // 1000} µs",
]


@telling([(README, sentence) for sentence in TOLD])
def test_the_document_tells_what_is_planted(name, sentence):
    assert sentence in words(name)


def test_a_report_of_a_job_is_as_large_as_is_told(tmp_path):
    (told,) = re.findall(r"reports of ([0-9.]+) MB", words(README))
    fleet.build_fleet(tmp_path, job.Job(hosts=1, gpus=2, faults=frozenset()))
    assert {f"{path.stat().st_size / 10**6:.1f}" for path in tmp_path.glob("*.sqlite")} == {told}


def holes(state: str) -> list[tuple[int, dict]]:
    """Every hole of a sample with its rank, as the truth beside it says; tests/oracle compares what gapfinder finds."""
    truth = json.loads((SAMPLES / f"{state}.truth.json").read_text(encoding="utf-8"))
    return [(lane["rank"], hole) for lane in truth["lanes"] for hole in lane["holes"]]


def of_cause(state: str, cause: Cause) -> list[tuple[int, dict]]:
    return [(rank, hole) for rank, hole in holes(state) if hole["cause"] == cause]


def test_the_first_product_of_the_healthy_sample_loads_its_code_for_as_long_as_is_told():
    (told,) = re.findall(r"One hole of ([0-9.]+) to ([0-9.]+) ms in the first step \(`warm_up`\)", words(README))
    loaded = of_cause("healthy", Cause.WARM_UP)
    lengths = [(hole["end_ns"] - hole["start_ns"]) / MS for _, hole in loaded]
    assert sorted(rank for rank, _ in loaded) == list(range(RANKS))
    assert (f"{min(lengths):.1f}", f"{max(lengths):.1f}") == told


def test_the_checkpoint_is_one_hole_of_one_rank():
    assert f"One `checkpoint` hole, on rank {CHECKPOINT.rank} only" in words(README)
    assert [rank for rank, _ in of_cause("data_starved", Cause.CHECKPOINT)] == [CHECKPOINT.rank]


def test_who_waits_for_the_slow_rank():
    late = of_cause("slow_rank", Cause.EXPOSED_WAIT)
    assert {hole["evidence"]["late_rank"] for _, hole in late} == {SLOW}
    waiting = SPELLED[len({rank for rank, _ in late})]
    assert f"{waiting.capitalize()} ranks wait inside their NCCL kernels" in words(README)
    assert f"late rank {SLOW})" in words(README)
    assert f"{waiting} wait in an all-reduce for the slow rank {SLOW};" in words("README.md")


def test_how_often_memory_is_taken_in_the_sharded_sample():
    taken = Counter(rank for rank, _ in of_cause("fsdp", Cause.ALLOCATOR))
    (often,) = set(taken.values())
    assert len(taken) == RANKS
    assert f"{SPELLED[often].capitalize()} `allocator` holes per rank" in words(README)


def test_the_copy_before_each_graph_is_as_long_as_is_told():
    (told,) = re.findall(r"A copy of ([0-9.]+) ms stands before each graph", words(README))
    with closing(sqlite3.connect(SAMPLES / "cuda_graphs.sqlite")) as connection:
        copy_ns, copies = connection.execute(
            'SELECT avg("end" - start), count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind = 1'
        ).fetchone()
        (graphs,) = connection.execute("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE").fetchone()
    assert (f"{copy_ns / MS:.1f}", copies) == (told, graphs)


def test_holes_of_the_sample_on_one_stream():
    assert (
        "Small `synchronisation` and `host_code` holes in each step, one `profiler_overhead`, one `garbage_collection`"
    ) in words(README)
    often = Counter(hole["cause"] for _, hole in holes("one_stream"))
    assert (often[Cause.PROFILER_OVERHEAD], often[Cause.GARBAGE_COLLECTION]) == (1, 1)
    assert often[Cause.HOST_CODE] == RANKS * STEPS
    between = RANKS * (STEPS - 1)  # the last step's ends with the capture; the planted holes take the place of one each
    assert between - 2 <= often[Cause.SYNCHRONISATION] <= between


def test_causes_that_no_state_plants():
    planted = [hole for state in STATES for _, hole in holes(state)]
    main, parts = ({hole["cause"] for hole in planted}, {c for hole in planted for c in hole["evidence"]["shares_ns"]})
    ((never, never_most),) = re.findall(r"No state plants ([^;]+); no hole is mostly ([^.]+)\.", words(README))
    assert set(re.findall(r"`(\w+)`", never)) == set(Cause) - parts
    assert set(re.findall(r"`(\w+)`", never_most)) == parts - main


def test_hosts_run_ahead_as_far_as_is_told():
    assert "run one or two steps ahead of the GPU and no further" in words(README)
    tables = ("KERNEL", "MEMCPY", "MEMSET")
    counted = " UNION ALL ".join(f"SELECT count(*) AS n FROM CUPTI_ACTIVITY_KIND_{table}" for table in tables)
    with closing(sqlite3.connect(SAMPLES / "healthy.sqlite")) as connection:
        (operations,) = connection.execute(f"SELECT sum(n) FROM ({counted})").fetchone()
    assert 1 <= QUEUE_DEPTH / (operations / (RANKS * STEPS)) <= 2
