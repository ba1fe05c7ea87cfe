"""Comparisons of two snapshots: what is matched with what, and numbers that add up."""

from __future__ import annotations

from dataclasses import fields, replace

import pytest
from analysis_values import MS, budget
from hypothesis import given, settings
from hypothesis import strategies as st
from snapshots import finding_total, in_ms, lane_of, simulated, snapshot_of, steps_of_ms, without_steps

from gapfinder.analysis.kernel_totals import KERNELS_KEPT
from gapfinder.budget import Budget
from gapfinder.compare.comparable import Aspect
from gapfinder.compare.diff import diff
from gapfinder.compare.difference import Difference, Status, Unit
from gapfinder.compare.snapshot import CollectiveTotal, LaneSnapshot, StepSample
from gapfinder.errors import InconclusiveError
from gapfinder.explanations import Cause, KernelTotal
from gapfinder.model import NO_COMMUNICATION

PARTS = [field.name for field in fields(Budget) if field.name != "window_ns"]
STEP = {"compute": 60.0, "hidden": 20.0, "exposed": 15.0, "idle": 5.0}


def steps(count: int = 4, **changed: float) -> tuple[StepSample, ...]:
    return steps_of_ms(*[{**STEP, **changed}] * count)


def ranks(*lanes: LaneSnapshot, digest: str = "a", **others):
    return replace(snapshot_of(*lanes, digest=digest), **others)


def pair(rank: int = 0, **changed: float) -> LaneSnapshot:
    return lane_of(steps(**changed), rank=rank)


def changed_kernels(*kernels: tuple[str, int, int], communicates: bool = False) -> tuple[KernelTotal, ...]:
    return tuple(
        KernelTotal(name=name, is_communication=communicates, count=count, total_ns=ns) for name, count, ns in kernels
    )


def all_reduce(communicator: str, *, instances: int, ms: int, wait_ms: int | None) -> CollectiveTotal:
    return CollectiveTotal(
        operation="AllReduce",
        communicator=communicator,
        instances=instances,
        total_ns=ms * MS,
        hidden_ns=0,
        exposed_ns=ms * MS,
        wait_ns=None if wait_ms is None else wait_ms * MS,
        transfer_ns=None if wait_ms is None else (ms - wait_ms) * MS,
        bytes_total=None,
    )


def moved(difference: Difference) -> list[object]:
    return [
        one
        for group in (
            difference.causes,
            difference.findings,
            difference.collectives,
            difference.kernels,
            difference.calls,
        )
        for one in group
        if one.status is not Status.SAME
    ]


def test_nothing_moves_between_a_training_and_itself():
    one = simulated(seed=1)
    same = diff(one, one)
    assert (same.before, moved(same), same.unit) == (same.after, [], Unit.STEP)
    assert same.notes == (
        "not like for like: both are the same capture, so nothing can have changed: was the old report measured again?",
    )


@pytest.mark.parametrize("names", [("before", "after"), ("a.sqlite", "b.sqlite")])
def test_without_lanes_there_is_nothing_to_compare(names):
    full, empty = snapshot_of(pair()), snapshot_of()
    for sides, name in (((empty, full), names[0]), ((full, empty), names[1])):
        with pytest.raises(InconclusiveError, match=f"nothing to compare: {name} has no GPU operation"):
            diff(*sides, names=names)


def test_another_number_of_gpus_is_refused_until_it_is_allowed():
    two, one = ranks(pair(0), pair(1)), ranks(pair(0), digest="b", world_size=2)
    with pytest.raises(InconclusiveError, match=r"not comparable: .*2 lanes.*--allow-different gpus"):
        diff(two, one)
    allowed = diff(two, one, allowed=[Aspect.GPUS, Aspect.RANKS])
    assert [(lane.label, lane.after is None) for lane in allowed.lanes] == [("rank 0", False), ("rank 1", True)]
    assert "only before has rank 1; totals are over all lanes of each side" in allowed.notes


def test_lanes_are_the_same_by_rank_whatever_their_order():
    before = ranks(pair(0), pair(1, idle=25.0))
    after = ranks(pair(1, idle=25.0), pair(0), digest="b")
    difference = diff(before, after)
    assert [(lane.label, lane.before == lane.after) for lane in difference.lanes] == [
        ("rank 0", True),
        ("rank 1", True),
    ]


def test_without_ranks_lanes_are_the_same_by_order():
    lanes = [lane_of(steps(), rank=None), lane_of(steps(idle=25.0), rank=None)]
    difference = diff(snapshot_of(*lanes), snapshot_of(*lanes, digest="b"))
    assert [lane.before == lane.after for lane in difference.lanes] == [True, True]
    assert difference.lanes[0].before != difference.lanes[1].before


times = st.integers(0, 10**15)
budgets = st.builds(
    lambda parts: Budget(window_ns=sum(parts), **dict(zip(PARTS, parts, strict=True))),
    st.lists(times, min_size=6, max_size=6).filter(any),
)
lanes = st.lists(st.lists(budgets, min_size=1, max_size=5), min_size=1, max_size=3)


@settings(max_examples=25, deadline=None)
@given(lanes, lanes)
@pytest.mark.parametrize("has_steps", [True, False])
def test_the_parts_of_the_change_add_up_to_the_change_exactly(has_steps, old, new):
    def snapshot(rows, digest):
        made = [
            lane_of(tuple(StepSample(number=n, budget=one, overlap_ratio=None) for n, one in enumerate(row)), rank=rank)
            for rank, row in enumerate(rows)
        ]
        return snapshot_of(*made, digest=digest)

    both = snapshot(old, "a"), snapshot(new, "b")
    if not has_steps:
        both = without_steps(both[0]), without_steps(both[1])
    difference = diff(*both, allowed=Aspect)
    sides = difference.before.budget, difference.after.budget
    for side in sides:
        assert sum(getattr(side, part) for part in PARTS) == side.window_ns
    changes = [getattr(sides[1], part) - getattr(sides[0], part) for part in PARTS]
    assert sum(changes) == sides[1].window_ns - sides[0].window_ns
    if has_steps:
        lengths = [step.window_ns for row in new for step in row]
        assert abs(sides[1].window_ns - sum(lengths) / len(lengths)) <= 0.5 + 1e-9 * sides[1].window_ns


def test_each_part_is_the_mean_over_all_steps():
    before = ranks(lane_of(steps_of_ms(STEP, {**STEP, "idle": 15.0})), world_size=1)
    after = ranks(lane_of(steps_of_ms(STEP)), digest="b", world_size=1)
    difference = diff(before, after, allowed=Aspect)
    assert difference.before.budget == in_ms(compute=60, hidden=20, exposed=15, idle=10)
    assert (difference.before.steps, difference.before.p50_ns) == (2, 105 * MS)
    assert difference.after.budget == in_ms(**STEP)


def test_without_steps_on_one_side_shares_of_the_time_are_compared():
    before = without_steps(ranks(pair(0), pair(1)))
    difference = diff(before, ranks(pair(0), pair(1, idle=105.0), digest="b"), names=("old", "new"))
    assert difference.unit is Unit.SECOND
    assert difference.before.budget.idle_ns == 1_000_000_000 * 5 // 100
    assert difference.after.budget.idle_ns == pytest.approx(1_000_000_000 * 110 / 300, abs=1)
    assert any(note.startswith("old has no steps, so shares of the time are compared") for note in difference.notes)


def test_a_long_first_step_changes_no_count():
    """Kernels are counted over the window, in which the warm-up of 500 ms is no work."""
    warm = replace(pair(), budget=in_ms(compute=5 * 60, hidden=5 * 20, exposed=5 * 15, idle=5 * 5 + 500))
    quick = replace(pair(), budget=in_ms(compute=5 * 60, hidden=5 * 20, exposed=5 * 15, idle=5 * 5))
    kernels = changed_kernels(("gemm", 50, 300 * MS))
    difference = diff(ranks(warm, kernels=kernels), ranks(quick, kernels=kernels, digest="b"), allowed=Aspect)
    (gemm,) = difference.kernels
    assert (gemm.status, gemm.before) == (Status.SAME, gemm.after)
    assert (gemm.after.count, gemm.after.total_ns) == (10.0, 60 * MS)


def test_causes_appear_go_and_grow():
    def with_causes(**causes: int) -> LaneSnapshot:
        return replace(pair(), causes={Cause[name]: 4 * ms * MS for name, ms in causes.items()})

    before = ranks(with_causes(DATA_LOADING=3, EXPOSED_WAIT=12))
    after = ranks(with_causes(ALLOCATOR=1, EXPOSED_WAIT=14), digest="b")
    told = [(one.cause, one.status, one.before_ns, one.after_ns) for one in diff(before, after, allowed=Aspect).causes]
    assert told == [
        (Cause.DATA_LOADING, Status.GONE, 3 * MS, 0),
        (Cause.EXPOSED_WAIT, Status.GREW, 12 * MS, 14 * MS),
        (Cause.ALLOCATOR, Status.APPEARED, 0, 1 * MS),
        (None, Status.SAME, 5 * MS, 5 * MS),
    ]


@pytest.mark.parametrize(("reason", "min_gap"), [(None, 50_000), ("graphs were not captured", 100_000)])
def test_causes_are_not_compared_where_they_are_not_the_same_thing(reason, min_gap):
    lane = replace(pair(), causes={Cause.DATA_LOADING: 4 * MS})
    after = ranks(replace(lane, idle_reason=reason), digest="b", min_gap_ns=min_gap)
    difference = diff(ranks(lane), after, allowed=Aspect)
    assert difference.causes == ()
    assert difference.notes


def test_a_finding_that_moved_to_another_lane_is_one_finding():
    def snapshot(lane: int, digest: str):
        return replace(
            snapshot_of(pair(0), pair(1), digest=digest, findings=(finding_total("straggler", lost_ms=80, lane=lane),))
        )

    (one,) = diff(snapshot(0, "a"), snapshot(1, "b")).findings
    assert (one.lanes, one.status, one.before_ns, one.after_ns) == (("rank 0", "rank 1"), Status.SAME, 10 * MS, 10 * MS)


def test_several_findings_of_a_code_are_matched_by_lane():
    def snapshot(*lanes: int, digest: str):
        found = tuple(finding_total("straggler", lost_ms=80, lane=lane) for lane in lanes)
        return snapshot_of(pair(0), pair(1), pair(2), digest=digest, findings=found)

    told = {one.lanes: one.status for one in diff(snapshot(0, 1, digest="a"), snapshot(1, 2, digest="b")).findings}
    assert told == {
        ("rank 0", None): Status.GONE,
        ("rank 1", "rank 1"): Status.SAME,
        (None, "rank 2"): Status.APPEARED,
    }


def test_collectives_are_matched_by_operation_whatever_the_communicator_is_called():
    before = ranks(pair(0), pair(1), collectives=(all_reduce("0x7f01", instances=8, ms=80, wait_ms=16),))
    halves = (all_reduce("0x55a1", instances=4, ms=40, wait_ms=8), all_reduce("0x55a2", instances=4, ms=40, wait_ms=8))
    (same,) = diff(before, ranks(pair(0), pair(1), collectives=halves, digest="b")).collectives
    assert (same.status, same.before) == (Status.SAME, same.after)
    assert (same.after.count, same.after.total_ns, same.after.wait_ns) == (2.0, 10 * MS, 2 * MS)
    unsplit = (halves[0], replace(halves[1], wait_ns=None, transfer_ns=None))
    (other,) = diff(before, ranks(pair(0), pair(1), collectives=unsplit, digest="b")).collectives
    assert (other.after.wait_ns, other.after.transfer_ns) == (None, None)


def test_kernels_appear_go_and_grow():
    before = ranks(pair(), kernels=changed_kernels(("gemm", 40, 200 * MS), ("old", 4, 40 * MS)))
    after = ranks(pair(), kernels=changed_kernels(("gemm", 40, 240 * MS), ("new", 8, 80 * MS)), digest="b")
    difference = diff(before, after, allowed=Aspect)
    assert [(one.name, one.status) for one in difference.kernels] == [
        ("new", Status.APPEARED),
        ("gemm", Status.GREW),
        ("old", Status.GONE),
    ]
    pace = difference.pace
    assert (pace.work, pace.duration, pace.share_before, pace.share_after) == (1.0, 1.2, 200 / 240, 240 / 320)


def test_more_of_the_same_kernels_is_more_work_and_not_slower_work():
    before = ranks(pair(), kernels=changed_kernels(("gemm", 40, 200 * MS), ("norm", 40, 40 * MS)))
    after = ranks(pair(), kernels=changed_kernels(("gemm", 50, 250 * MS), ("norm", 50, 50 * MS)), digest="b")
    pace = diff(before, after, allowed=Aspect).pace
    assert (pace.work, pace.duration) == (1.25, 1.0)


def test_a_kernel_that_was_too_short_to_be_kept_is_not_called_new():
    full = [(f"k{number:02}", 4, (100 - number) * MS) for number in range(KERNELS_KEPT)]
    before = ranks(pair(), kernels=changed_kernels(*full))
    hidden = changed_kernels(*full[:-1], ("below the limit", 4, 40 * MS))
    above = changed_kernels(("above it", 4, 120 * MS), *full[:-1])
    told = {
        one.name: one.status for one in diff(before, ranks(pair(), kernels=hidden, digest="b"), allowed=Aspect).kernels
    }
    assert "below the limit" not in told
    told = {
        one.name: one.status for one in diff(before, ranks(pair(), kernels=above, digest="b"), allowed=Aspect).kernels
    }
    assert told["above it"] is Status.GREW


def test_new_synchronising_calls_are_told_per_step():
    after = ranks(replace(pair(), sync_calls={"cudaStreamSynchronize": (12, 8 * MS)}), digest="b")
    (call,) = diff(ranks(pair()), after, allowed=Aspect).calls
    assert (call.status, call.before.count, call.after.count, call.after.total_ns) == (
        Status.APPEARED,
        0.0,
        3.0,
        2 * MS,
    )


def test_the_overlap_ratio_is_of_sums_and_null_where_a_lane_hides_it():
    silent = replace(pair(1), budget=budget(compute=10 * MS), overlap_ratio=None, overlap_reason=NO_COMMUNICATION)
    opaque = replace(pair(1), overlap_ratio=None, overlap_reason="graphs hide it")
    difference = diff(ranks(pair(0), silent), ranks(pair(0), opaque, digest="b"))
    assert (difference.before.overlap_ratio, difference.before.overlap_reason) == (20 / 35, None)
    assert (difference.after.overlap_ratio, difference.after.overlap_reason) == (None, "graphs hide it")


def test_a_lane_without_steps_beside_others_is_named():
    bare = replace(pair(1), steps=(), steps_reason="no step is complete inside the window")
    difference = diff(ranks(pair(0), bare), ranks(pair(0), pair(1), digest="b"))
    assert [lane.before is None for lane in difference.lanes] == [False, True]
    assert any("without rank 1, which has no complete steps" in note for note in difference.notes)
