"""A simulated job of many hosts is put on one clock and its planted faults are named; the truth knows nothing of it."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import pandas as pd
import pytest
from measured import with_collectives

from gapfinder.findings import explained
from gapfinder.load import load_profile
from gapfinder.model import Analysis
from sample_profiles.fleet import build_fleet
from sample_profiles.job import Fault, Job

US, BILLION = 1_000, 1_000_000_000
CLOCKS = {Fault.CLOCK_OFFSETS, Fault.CLOCK_DRIFT}


@dataclass
class Simulated:
    """A written job's truth, and what is found."""

    truth: dict
    analysis: Analysis
    collectives: pd.DataFrame

    def codes(self) -> set[str]:
        return {finding.code for finding in self.analysis.findings}

    def finding(self, code: str) -> str:
        (found,) = (one for one in self.analysis.findings if one.code == code)
        return f"{found.title}. {found.detail}"

    def offset(self, host: str, at_utc: int) -> int:
        """How far a host's clock is truly ahead at a time."""
        (clock,) = (one for one in self.truth["hosts"] if one["host"] == host)
        return clock["offset_ns"] + (at_utc - self.truth["reference_utc_ns"]) * clock["drift_ppb"] // BILLION

    def offset_errors(self) -> list[int]:
        return [
            clock.offset_ns - self.offset(clock.host, clock.at_utc_ns) + self.offset(clock.reference, clock.at_utc_ns)
            for clock in self.analysis.clocks
        ]


def simulate(folder: Path, *, faults: set[Fault], has_payloads: bool = True, **size: int) -> Simulated:
    build_fleet(folder, Job(faults=frozenset(faults - {Fault.TRUNCATED_REPORT}), **size), has_payloads=has_payloads)
    truth = json.loads((folder / "fleet.truth.json").read_text())
    profiles = (load_profile(path) for path in sorted(folder.glob("*.sqlite")))
    analysis, collectives = with_collectives(profiles)
    return Simulated(truth, explained(analysis), collectives)


@pytest.fixture(scope="module")
def healthy(tmp_path_factory) -> Simulated:
    return simulate(tmp_path_factory.mktemp("healthy"), faults=CLOCKS, hosts=4, gpus=2)


@pytest.fixture(scope="module")
def faulty(tmp_path_factory) -> Simulated:
    return simulate(tmp_path_factory.mktemp("faulty"), faults=set(Fault) - {Fault.SLOW_GPU}, hosts=4, gpus=2)


@pytest.fixture(scope="module")
def untold(tmp_path_factory) -> Simulated:
    """Without NCCL's payloads."""
    return simulate(
        tmp_path_factory.mktemp("untold"), faults=CLOCKS | {Fault.SLOW_NIC}, has_payloads=False, hosts=4, gpus=2
    )


def test_without_faults_nothing_is_named(healthy):
    assert not healthy.codes() & {"slow-node", "slow-nic", "slow-link", "straggler", "capture-quality"}
    assert not any("no GPU work" in note for note in healthy.analysis.coverage.notes)
    assert not any(host.is_slow or host.has_slow_nic for host in healthy.analysis.hosts)


@pytest.mark.parametrize("job", ["healthy", "faulty", "untold"])
def test_offsets_and_drifts_are_recovered(job, request):
    found = request.getfixturevalue(job)
    assert [clock.host for clock in found.analysis.clocks] == ["node0", "node1", "node2", "node3"]
    assert max(map(abs, found.offset_errors())) <= 20 * US
    drifts = {one["host"]: one["drift_ppb"] / 1_000 for one in found.truth["hosts"]}
    for clock in found.analysis.clocks:
        assert clock.drift_ppm == pytest.approx(drifts[clock.host] - drifts[clock.reference], abs=5)


def test_the_residual_is_told_and_no_larger_than_how_far_ends_are_apart(faulty):
    residuals = [clock.residual_ns for clock in faulty.analysis.clocks]
    assert residuals[0] == 0
    assert all(0 < residual <= 4 * US for residual in residuals[1:])
    assert any("is known to" in note for note in faulty.analysis.coverage.notes)
    assert "clocks agree to" in faulty.finding("slow-node")


def test_every_collective_is_found_with_its_true_waits(faulty):
    """An independent, slow matcher: the n-th collective of a communicator by the truth's own numbering."""
    ranks = {lane: one.rank for lane, one in enumerate(faulty.analysis.lanes)}
    seen: dict[tuple[int, int], dict[int, tuple[int, int]]] = defaultdict(dict)
    counts: Counter[tuple[int, int]] = Counter()
    for row in faulty.collectives.sort_values(["lane", "start"]).itertuples():
        channel = int(row.communicator, 16)
        number = counts[row.lane, channel]
        counts[row.lane, channel] += 1
        seen[channel, number][ranks[row.lane]] = (row.instance, row.wait)
    members = {one["communicator"]: (one["id"], one["ranks"]) for one in faulty.truth["communicators"]}
    compared = 0
    for one in faulty.truth["collectives"]:
        channel, taking_part = members[one["communicator"]]
        found = seen[channel, one["number"]]
        here = [rank for rank in taking_part if rank in found]
        if len(here) < 2:
            continue
        assert len({found[rank][0] for rank in here}) == 1
        waits = dict(zip(taking_part, one["waits_ns"], strict=True))
        last = min(waits[rank] for rank in here)  # the last one of those that left a report
        for rank in here:
            assert found[rank][1] == pytest.approx(waits[rank] - last, abs=8 * US)
            compared += 1
    assert compared > 1_000


def test_slow_node_slow_nic_and_missing_rank_are_named(faulty):
    faults = {one["fault"]: one for one in faulty.truth["faults"]}
    assert faulty.finding("slow-node").startswith(f"{faults['slow-node']['host']} is slower than the other hosts")
    assert f"network of {faults['slow-nic']['host']} is slower" in faulty.finding("slow-nic").split(".")[0]
    assert not faulty.codes() & {"straggler", "slow-link"}
    missing = faulty.truth["missing_ranks"]
    assert f"no GPU work of rank {missing[0]} in these reports (world size 8)" in faulty.analysis.coverage.notes
    ratio = faults["slow-nic"]["permille"] / 1_000
    (nic,) = (host for host in faulty.analysis.hosts if host.has_slow_nic)
    assert nic.transfer_ratio == pytest.approx(ratio, rel=0.1)
    (node,) = (host for host in faulty.analysis.hosts if host.is_slow)
    assert node.own_ratio == pytest.approx(faults["slow-node"]["permille"] / 1_000, rel=0.02)


@pytest.mark.parametrize("job", ["healthy", "faulty"])
def test_the_critical_lane_of_a_step_is_the_true_one(job, request):
    found = request.getfixturevalue(job)
    steps, truth = found.analysis.lane_steps, {one["number"]: one for one in found.truth["steps"]}
    pairs = [
        (found.analysis.lanes[lane].rank, truth[number]["critical_rank"])
        for number, lane in zip(steps.numbers, steps.critical_lanes, strict=True)
    ]
    assert len(pairs) >= 25
    assert sum(mine == true for mine, true in pairs) >= 0.9 * len(pairs)


def test_without_payloads_a_slow_nic_is_named_by_transfer_times(untold):
    assert "slow-nic" in untold.codes()
    assert [host.host for host in untold.analysis.hosts if host.has_slow_nic] == ["node1"]


def test_no_ns_is_lost_twice(faulty):
    window = sum(lane.window.duration_ns for lane in faulty.analysis.lanes)
    holes = sum(lane.holes.total_ns for lane in faulty.analysis.lanes)
    assert sum(finding.lost_ns for finding in faulty.analysis.findings) <= holes + 0.01 * window


@pytest.mark.slow
def test_the_usual_job_of_64_ranks(tmp_path):
    found = simulate(tmp_path, faults=set(Fault), steps=8)
    assert max(map(abs, found.offset_errors())) <= 20 * US
    assert [host.host for host in found.analysis.hosts if host.is_slow] == ["node3"]
    assert [host.host for host in found.analysis.hosts if host.has_slow_nic] == ["node5"]
    assert found.finding("straggler").startswith("Rank 12 is slower")
    assert found.finding("slow-node").startswith("node3 is slower")
    assert found.finding("slow-nic").startswith("The network of node5")
    assert "no GPU work of rank 17 in these reports (world size 64)" in found.analysis.coverage.notes
    assert median(host.own_ratio for host in found.analysis.hosts) == pytest.approx(1, abs=0.02)
