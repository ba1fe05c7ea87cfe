"""Causes on the bundled samples against their planted truth, and on real profiles, which must leave little unknown."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path

import pytest

from gapfinder.analysis import analyze
from gapfinder.explanations import Cause
from gapfinder.load import load_profile
from gapfinder.model import Hole
from gapfinder.settings import Settings
from sample_profiles.build import build_profile

SAMPLES = Path(__file__).parents[2] / "sample_profiles"
STATES = sorted(path.name.removesuffix(".truth.json") for path in SAMPLES.glob("*.truth.json"))
REAL = Path(__file__).parents[2] / ".." / "shared" / "profiles"
REAL_PROFILES = sorted(REAL.glob("*.sqlite"))
MS = 1_000_000


@cache
def holes(state: str, folder: Path = SAMPLES) -> list[tuple[Hole, dict]]:
    """Return every hole of a sample with its truth."""
    truth = json.loads((folder / f"{state}.truth.json").read_text())
    found = analyze([load_profile(folder / f"{state}.sqlite")], settings=Settings(top=100_000)).lanes
    pairs = []
    for lane, planted in zip(found, truth["lanes"], strict=True):
        in_order = sorted(lane.holes.top, key=lambda hole: hole.start_ns)
        assert sum(lane.causes.values()) == lane.holes.total_ns == sum(hole.duration_ns for hole in in_order)
        pairs += zip(in_order, planted["holes"], strict=True)
    return pairs


@cache
def cells(state: str, folder: Path = SAMPLES) -> Counter[tuple[str, str]]:
    """Return ns by (planted, found) cause; what a hole's two tables do not share is spread over the rest."""
    found: Counter[tuple[str, str]] = Counter()
    for hole, planted in holes(state, folder):
        wanted, got = (
            Counter(planted["evidence"]["shares_ns"]),
            Counter({str(c): n for c, n in hole.evidence.shares.items()}),
        )
        agreed = wanted & got
        found.update({(cause, cause): ns for cause, ns in agreed.items()})
        missed, extra = list((wanted - agreed).items()), list((got - agreed).items())
        while missed and extra:
            (cause, lost), (other, more) = missed.pop(), extra.pop()
            moved = min(lost, more)
            found[cause, other] += moved
            missed += [(cause, lost - moved)] * (lost > moved)
            extra += [(other, more - moved)] * (more > moved)
    return found


def table(found: Counter[tuple[str, str]]) -> str:
    """Return the cells as text, mistakes first."""
    rows = sorted(found.items(), key=lambda item: (item[0][0] == item[0][1], -item[1]))
    return "\n".join(f"{planted:<32} found as {got:<32} {ns / MS:>9.3f} ms" for (planted, got), ns in rows)


def agreement(found: Counter[tuple[str, str]]) -> float:
    return sum(ns for (planted, got), ns in found.items() if planted == got) / sum(found.values())


def test_planted_hole_time_gets_the_planted_cause() -> None:
    together = sum((cells(state) for state in STATES), Counter())
    unknown = sum(ns for (_, got), ns in together.items() if got == Cause.UNKNOWN)
    assert agreement(together) >= 0.98, table(together)
    assert unknown <= 0.02 * sum(together.values()), table(together)


@pytest.mark.parametrize("state", STATES)
def test_each_sample_by_itself(state: str) -> None:
    assert agreement(cells(state)) >= 0.98, table(cells(state))
    got = Counter(hole.cause.value for hole, _ in holes(state))
    wanted = Counter(planted["cause"] for _, planted in holes(state))
    same = sum(hole.cause == planted["cause"] for hole, planted in holes(state))
    assert same >= 0.98 * len(holes(state)), f"main causes: found {got}, planted {wanted}"


@pytest.mark.parametrize(
    ("state", "seed", "steps", "ranks"),
    [("pipeline", 99, 7, 8), ("pipeline", 10, 6, 12), ("one_stream", 5, 8, 4), ("fsdp", 7, 8, 4)],
)
def test_trainings_that_nobody_looked_at(state: str, seed: int, steps: int, ranks: int, tmp_path: Path) -> None:
    build_profile(state, tmp_path / f"{state}.sqlite", seed=seed, steps=steps, ranks=ranks)
    assert agreement(cells(state, tmp_path)) >= 0.98, table(cells(state, tmp_path))


def test_who_was_late() -> None:
    """The truth names the first collective of the hole, even if its wait lies before it: the two need not be one."""
    waits = [
        (hole.evidence.late_lane, planted["evidence"]["late_rank"])
        for state in STATES
        for hole, planted in holes(state)
        if planted["cause"] == hole.cause == Cause.EXPOSED_WAIT
    ]
    assert sum(found == rank for found, rank in waits) >= 0.95 * len(waits) > 50
    slow = [hole.evidence.late_lane for hole, _ in holes("slow_rank") if hole.cause is Cause.EXPOSED_WAIT]
    assert set(slow) == {3}


def test_planted_evidence_is_named() -> None:
    starved = [hole for hole, _ in holes("data_starved") if hole.cause is Cause.DATA_LOADING]
    assert {(hole.evidence.call, hole.evidence.nvtx) for hole in starved} == {("poll", "data loading")}
    allocated = [hole for hole, _ in holes("fsdp") if hole.cause is Cause.ALLOCATOR]
    assert {hole.evidence.call for hole in allocated} == {"cudaMalloc_v3020"}
    copied = [hole for hole, _ in holes("cuda_graphs") if hole.cause is Cause.HOST_TO_DEVICE_COPY]
    assert {(hole.evidence.copied_bytes, hole.evidence.is_pageable) for hole in copied} == {(8_388_608, True)}
    synchronised = [hole for hole, _ in holes("one_stream") if hole.cause is Cause.SYNCHRONISATION]
    assert {hole.evidence.call for hole in synchronised} == {"cudaStreamSynchronize_v3020"}


@pytest.mark.skipif(not REAL_PROFILES, reason="the shared real profiles are not there")
@pytest.mark.parametrize("path", REAL_PROFILES, ids=lambda path: path.stem)
def test_little_of_a_real_profile_is_unknown(path: Path) -> None:
    analysis = analyze([load_profile(path)])
    assert analysis.coverage.runtime
    for lane in analysis.lanes:
        assert sum(lane.causes.values()) == lane.holes.total_ns
    unknown = sum(lane.causes.get(Cause.UNKNOWN, 0) for lane in analysis.lanes)
    assert unknown <= 0.1 * sum(lane.holes.total_ns for lane in analysis.lanes)


def test_the_main_cause_is_what_is_named() -> None:
    """Rows read by hand: four `write` calls inside the range `checkpoint`; the host runs ahead of a reduce-scatter."""
    named = {
        hole.start_ns: (hole.evidence.call, hole.evidence.call_ns, hole.evidence.nvtx)
        for state in ("data_starved", "fsdp")
        for hole, _ in holes(state)
    }
    assert named[12562692705] == ("write", 11_116_600, "checkpoint")
    assert named[12474745249] == named[12385494573] == (None, None, "ncclReduceScatter")


@pytest.mark.skipif(not REAL_PROFILES, reason="the shared real profiles are not there")
def test_the_main_cause_is_what_is_named_in_real_profiles() -> None:
    (ddp,) = analyze([load_profile(REAL / "ddp_2ranks_rank0.sqlite")]).lanes
    ranges = {hole.start_ns: hole.evidence.nvtx for hole in ddp.holes.top}
    assert ranges[190086284] == ranges[410342111] == "## backward ##"
    (recommender,) = analyze([load_profile(REAL / "recommender_8ranks_rank3.sqlite")]).lanes
    top = [(hole.evidence.call, hole.evidence.nvtx) for hole in recommender.holes.top[:4]]
    assert top == [(None, "nccl:all_to_all")] * 4
