"""Matching, stragglers and buckets on the simulated states, against the simulator's own records, and on real captures."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from gapfinder.analysis import analyze
from gapfinder.analysis.hints import OPERATIONS, operation_hint
from gapfinder.load import load_profile
from sample_profiles.build import BUNDLE, RANKS, SEED, STEPS
from sample_profiles.states import STATES, simulate
from sample_profiles.trace import OpKind, Process
from sample_profiles.writer import write_export

if TYPE_CHECKING:
    from gapfinder.model import Analysis

REAL = Path(__file__).parents[2] / ".." / "shared" / "profiles"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="the shared real profiles are not there")


def bundled(state: str) -> Analysis:
    return analyze([load_profile(BUNDLE / f"{state}.sqlite")])


def recorded(processes: list[Process]) -> dict[str, dict[str, object]]:
    """Return per operation what really happened: collectives, summed transfer, summed wait."""
    found: dict[str, dict[str, object]] = {}
    for process in processes:
        for op in process.ops:
            if op.kind is OpKind.COMMUNICATION:
                one = found.setdefault(operation_hint(op.work.name), {"meetings": set(), "transfer": 0, "wait": 0})
                start, end = op.span
                one["meetings"].add(id(op.meeting))
                one["transfer"] += op.meeting.transfer
                one["wait"] += end - start - op.meeting.transfer
    return found


def measured(analysis: Analysis) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for row in analysis.collectives:
        assert row.unmatched == 0
        one = found.setdefault(row.operation, {"meetings": 0, "transfer": 0, "wait": 0})
        one["meetings"] += row.instances
        one["transfer"] += row.transfer_ns or 0
        one["wait"] += row.wait_ns or 0
    return found


def counted(found: dict[str, dict[str, object]]) -> dict[str, dict[str, object]]:
    return {name: {**one, "meetings": len(one["meetings"])} for name, one in found.items()}


@pytest.mark.parametrize("state", STATES)
def test_every_collective_is_found_on_all_its_lanes(state):
    assert measured(bundled(state)) == counted(recorded(simulate(state, seed=SEED, steps=STEPS, ranks=RANKS)))


@pytest.mark.parametrize("state", ["slow_rank", "fsdp", "pipeline"])
def test_every_collective_is_found_across_files_with_their_own_clocks(state, tmp_path):
    processes = simulate(state, seed=SEED, steps=STEPS, ranks=RANKS)
    paths = []
    for process in processes:
        paths.append(tmp_path / f"{process.rank}.sqlite")
        write_export([process], paths[-1])
    analysis = analyze([load_profile(path) for path in paths])
    assert measured(analysis) == counted(recorded(processes))


@pytest.mark.parametrize("state", STATES)
def test_hidden_and_exposed_of_all_rows_are_the_lanes_budgets(state):
    analysis = bundled(state)
    rows = analysis.collectives
    assert {row.operation for row in rows} <= set(OPERATIONS)
    if state == "pipeline":  # its operations run at once, so their unions overlap
        assert sum(row.exposed_ns for row in rows) >= analysis.total.budget.exposed_ns
        return
    assert sum(row.hidden_ns for row in rows) == analysis.total.budget.hidden_ns
    assert sum(row.exposed_ns for row in rows) == analysis.total.budget.exposed_ns


@pytest.mark.parametrize("state", STATES)
def test_only_the_slow_rank_is_a_straggler(state):
    found = bundled(state).stragglers
    if state != "slow_rank":
        assert found == ()
        return
    assert [(one.lane, one.what_differs, one.steps) for one in found] == [(3, "compute", (5, 5))]
    assert found[0].compute_ratio == pytest.approx(1.3, abs=0.01)


def test_buckets_tell_hidden_from_broken_synchronisation():
    for healthy, broken in zip(bundled("healthy").buckets, bundled("broken_overlap").buckets, strict=True):
        assert (healthy.per_step, broken.per_step) == (3, 3)
        assert healthy.start_into_backward < 0.5
        assert broken.start_into_backward > 1
        assert healthy.after_backward_ns < broken.median_ns / 4 < broken.after_backward_ns
    assert [one.micro_steps for one in bundled("pipeline").buckets] == [4] * RANKS
    assert bundled("cuda_graphs").buckets == ()


@needs_real
def test_the_two_lanes_of_a_job_meet_in_five_collectives():
    """Of 10 kernels a lane five end within 0.8 % of one on the other lane (read off the rows); the others are alone."""
    rows = analyze([load_profile(REAL / "job128_ranks_0_1.sqlite")]).collectives
    assert [(row.communicator, row.instances, row.unmatched) for row in rows] == [
        ("stream 84", 13, 10),
        ("stream 203", 2, 0),
    ]
    assert sum(row.transfer_ns for row in rows) == 2 * 184_791_000


@needs_real
@pytest.mark.parametrize("file", ["recommender_8ranks_rank3", "recommender_2ranks_rank1", "ddp_2ranks_rank0"])
def test_a_rank_alone_is_not_split(file):
    analysis = analyze([load_profile(REAL / f"{file}.sqlite")])
    assert analysis.collectives
    for row in analysis.collectives:
        assert row.wait_ns is row.transfer_ns is row.late_lane is None
    assert sum(row.exposed_ns for row in analysis.collectives) == analysis.lanes[0].budget.exposed_ns
    assert analysis.stragglers == ()


@needs_real
@pytest.mark.parametrize(("file", "pairs"), [("h100x2_sendrecv_before", 31), ("h100x2_sendrecv_after", 33)])
def test_sends_and_receives_of_two_gpus_meet(file, pairs):
    (row,) = analyze([load_profile(REAL / f"{file}.sqlite")]).collectives
    assert (row.operation, row.instances, row.unmatched) == ("SendRecv", pairs, 0)
