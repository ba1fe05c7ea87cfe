"""Steps, holes, buckets and kernels of real profiles once more, from raw rows by plain SQLite, edge by edge."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pytest

from gapfinder.analysis import analyze
from gapfinder.explanations import Cause
from gapfinder.load import load_profile
from gapfinder.model import Analysis

PROFILES = Path(__file__).parents[2] / ".." / "shared" / "profiles"
MIN_GAP = 100_000
COMMUNICATION, COMPUTE, COPY = "communication", "compute", "copy"
OPERATIONS = """
    SELECT start, "end", globalPid, deviceId, correlationId, value FROM CUPTI_ACTIVITY_KIND_KERNEL
    JOIN StringIds ON id = demangledName
    UNION ALL SELECT start, "end", globalPid, deviceId, correlationId, '' FROM CUPTI_ACTIVITY_KIND_MEMCPY
    UNION ALL SELECT start, "end", globalPid, deviceId, correlationId, '' FROM CUPTI_ACTIVITY_KIND_MEMSET
"""
RANGES = """
    SELECT start, "end", globalTid >> 24 << 24, coalesce(text, value) AS name FROM NVTX_EVENTS
    LEFT JOIN StringIds ON id = textId WHERE eventType IN (59, 60, 70, 71)
"""

pytestmark = pytest.mark.skipif(not PROFILES.is_dir(), reason="the shared real profiles are not there")


class Op(NamedTuple):
    start: int
    end: int
    launched: int
    name: str

    @property
    def kind(self) -> str:
        return COPY if not self.name else COMMUNICATION if self.name.startswith("nccl") else COMPUTE


class Raw:
    """The rows of one export: operations by (process, device), and ranges by process."""

    def __init__(self, file: str) -> None:
        self.lanes: dict[tuple[int, int], list[Op]] = defaultdict(list)
        self.ranges: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
        with closing(sqlite3.connect(f"file:{PROFILES / file}.sqlite?mode=ro&immutable=1", uri=True)) as rows:
            calls = "SELECT globalTid >> 24 << 24, correlationId, start FROM CUPTI_ACTIVITY_KIND_RUNTIME"
            launched = {(process, number): start for process, number, start in rows.execute(calls)}
            for start, end, process, device, number, name in rows.execute(OPERATIONS):
                if end > start:
                    self.lanes[process, device].append(Op(start, end, launched[process, number], name))
            for start, end, process, name in sorted(rows.execute(RANGES), key=lambda row: row[0]):
                self.ranges[process].append((start, end, name))

    def step_windows(self, lane: tuple[int, int]) -> Iterator[tuple[str, int, int, list[Op]]]:
        """Yield name, first start, first start of the next one, and operations of each step but the first."""
        found = []
        for start, end, name in self.ranges[lane[0]]:
            if name.startswith("ProfilerStep#"):
                found.append((name, [op for op in self.lanes[lane] if start <= op.launched < end]))
        ends = [min(op.start for op in ops) for _, ops in found[1:]] + [max(op.end for op in found[-1][1])]
        for (name, ops), end in list(zip(found, ends, strict=True))[1:]:
            yield name, min(op.start for op in ops), end, ops


def lasting(ops: Iterable[Op], first: int, last: int) -> Iterator[tuple[int, frozenset[str]]]:
    """Yield how long which kinds ran together, from edge to edge of [first, last)."""
    clipped = [(max(op.start, first), min(op.end, last), op.kind) for op in ops if op.start < last and op.end > first]
    changes: dict[int, Counter[str]] = defaultdict(Counter, {first: Counter(), last: Counter()})
    for start, end, kind in clipped:
        changes[start][kind] += 1
        changes[end][kind] -= 1
    running: Counter[str] = Counter()
    for time, following in pairwise(sorted(changes)):
        for kind, change in changes[time].items():
            running[kind] += change
        yield following - time, frozenset(kind for kind, count in running.items() if count)


def parts(ops: Iterable[Op], first: int, last: int) -> tuple[int, int, int]:
    """Return idle, hidden and exposed ns of [first, last)."""
    idle = hidden = exposed = 0
    for ns, kinds in lasting(ops, first, last):
        idle += ns * (not kinds)
        hidden += ns * (kinds >= {COMMUNICATION, COMPUTE})
        exposed += ns * (COMMUNICATION in kinds and COMPUTE not in kinds)
    return idle, hidden, exposed


def holes(ops: list[Op]) -> list[tuple[int, int]]:
    """Return (start, end) of the stretches without compute of at least MIN_GAP, longest first."""
    time, found, since = min(op.start for op in ops), [], None
    for ns, kinds in lasting(ops, time, max(op.end for op in ops)):
        if COMPUTE not in kinds and since is None:
            since = time
        elif COMPUTE in kinds and since is not None:
            found.append((since, time))
            since = None
        time += ns
    found += [(since, time)] if since is not None else []
    return sorted((one for one in found if one[1] - one[0] >= MIN_GAP), key=lambda one: (one[0] - one[1], one[0]))


def measured(file: str) -> Analysis:
    return analyze([load_profile(PROFILES / f"{file}.sqlite")])


@pytest.mark.parametrize("file", ["ddp_2ranks_rank0", "job128_ranks_0_1", "backward_a100_schema_3_27"])
def test_steps_holes_and_kernels_are_those_of_the_rows(file: str) -> None:
    raw, analysis = Raw(file), measured(file)
    times, counts = Counter(), Counter()
    for lane, (key, ops) in zip(analysis.lanes, sorted(raw.lanes.items()), strict=True):
        expected = holes(ops)
        assert (lane.holes.count, lane.holes.total_ns) == (len(expected), sum(end - start for start, end in expected))
        for one, (start, end) in zip(lane.holes.top, expected, strict=False):
            assert (one.start_ns, one.end_ns) == (start, end)
            assert (one.idle_ns, one.exposed_ns) == parts(ops, start, end)[::2]
        steps = [
            (name, start, end, *parts(ops, start, end))
            for name, start, end, _ in (raw.step_windows(key) if lane.steps else ())
        ]
        assert steps == [
            (
                one.name,
                one.window.start_ns,
                one.window.end_ns,
                one.budget.idle_ns,
                one.budget.hidden_ns,
                one.budget.exposed_ns,
            )
            for one in (lane.steps.items if lane.steps else ())
        ]
        for op in ops:
            if op.kind != COPY:
                times[op.name] += op.end - op.start
                counts[op.name] += 1
    assert {one.name: (one.count, one.total_ns) for one in analysis.kernels} == {
        one.name: (counts[one.name], times[one.name]) for one in analysis.kernels
    }
    assert max(times.values()) == analysis.kernels[0].total_ns


def test_when_the_first_bucket_starts_in_backward() -> None:
    raw = Raw("ddp_2ranks_rank0")
    ((key, _),) = raw.lanes.items()
    passes = [(start, end) for start, end, name in raw.ranges[key[0]] if name == "## backward ##"]
    starts, rests, lengths = [], [], []
    for _, _, _, ops in raw.step_windows(key):
        backward = [op for op in ops if op.kind == COMPUTE and any(start <= op.launched < end for start, end in passes)]
        begin, end = min(op.start for op in backward), max(op.end for op in backward)
        buckets = [op for op in ops if "AllReduce" in op.name]
        starts.append((min(op.start for op in buckets) - begin) / (end - begin))
        rests.append(sum(ns for ns, kinds in lasting(buckets, end, max(op.end for op in buckets)) if kinds))
        lengths += [op.end - op.start for op in buckets]
    (found,) = measured("ddp_2ranks_rank0").buckets
    assert found.per_step == len(lengths) / len(starts)
    assert found.start_into_backward == pytest.approx(median(starts), rel=1e-12)
    assert found.after_backward_ns == pytest.approx(median(rests), abs=0.5)
    assert found.median_ns == pytest.approx(median(lengths), abs=0.5)


def test_all_to_alls_are_no_pipeline() -> None:
    """All communication of this job was launched in ranges of collectives, by kernels named SendRecv."""
    for lane in measured("job128_ranks_0_1").lanes:
        assert Cause.PIPELINE_BUBBLE not in lane.causes
        assert lane.causes[Cause.EXPOSED_WAIT] > 0
