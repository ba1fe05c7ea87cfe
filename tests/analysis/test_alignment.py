"""Lanes of several clocks find their collectives, whatever the clocks show, and nothing is invented."""

from __future__ import annotations

import numpy as np
import pytest

from gapfinder.analysis.alignment import Clock, Matched, match_job
from gapfinder.analysis.hints import OPERATIONS
from gapfinder.analysis.matching import NOT_KNOWN, LaneCommunication
from gapfinder.errors import InconclusiveError

US, MS, S = 1_000, 1_000_000, 1_000_000_000
REDUCE, GATHER, SEND = (OPERATIONS.index(name) for name in ("AllReduce", "AllGather", "SendRecv"))
STEP, STEPS = 40 * MS, 40


def ends_of_job(*, seed: int = 1, per_step: tuple[int, ...] = (7, 19, 31)) -> np.ndarray:
    """When the collectives of a training end: at about the same places of each step."""
    rng = np.random.default_rng(seed)
    steps = np.cumsum(STEP + rng.integers(-200 * US, 200 * US, STEPS))
    return np.concatenate([steps + place * MS + rng.integers(0, 300 * US, STEPS) for place in per_step])


def lane(
    ends: np.ndarray, *, clock: int, ahead: int = 0, ppm: int = 0, jitter: int = 4 * US, **columns
) -> LaneCommunication:
    """A lane that sees collectives end at `ends`, on a clock that is `ahead` and drifts."""
    rng = np.random.default_rng(1_000 + clock)
    ends = np.sort(ends) + rng.integers(0, jitter + 1, len(ends))
    ends = ends + ahead + ends * ppm // 1_000_000
    lengths = rng.integers(200 * US, 900 * US, len(ends))
    filled = {name: np.full(len(ends), columns.get(name, NOT_KNOWN)) for name in ("operations", "communicators")}
    if "operations" not in columns:
        filled["operations"][:] = REDUCE
    return LaneCommunication(
        clock=clock, starts=ends - lengths, ends=ends, streams=np.zeros(len(ends), np.int64), **filled
    )


def job(*lanes: LaneCommunication, is_utc: bool = True, step_ns: int | None = STEP) -> Matched:
    clocks = [Clock(name=f"node{number}", is_utc=is_utc) for number in range(max(one.clock for one in lanes) + 1)]
    return match_job(lanes, clocks, step_ns=step_ns)


def matched(found: Matched, one: int, other: int) -> set[tuple[int, int]]:
    """Return the pairs of rows that two lanes have in one collective, by a slow way."""
    mine, theirs = found.times[one].instances.tolist(), found.times[other].instances.tolist()
    return {(a, b) for a, x in enumerate(mine) for b, y in enumerate(theirs) if x == y != NOT_KNOWN}


def in_order(count: int) -> set[tuple[int, int]]:
    return {(n, n) for n in range(count)}


def ahead(found: Matched, clock: int, time: int) -> int:
    return int(found.alignments[clock].line.ahead(np.array([time]))[0])


def test_one_clock_is_its_own_reference():
    ends = ends_of_job()
    found = job(lane(ends, clock=0), lane(ends, clock=0))
    assert matched(found, 0, 1) == in_order(len(ends))
    assert [(one.root, one.collectives, one.residual_ns) for one in found.alignments] == [(0, 0, 0)]


def test_hosts_that_run_different_jobs_stay_apart():
    found = job(lane(ends_of_job(seed=1), clock=0), lane(ends_of_job(seed=2, per_step=(3, 11, 26)), clock=1))
    assert matched(found, 0, 1) == set()
    assert [(one.root, one.collectives) for one in found.alignments] == [(0, 0), (1, 0)]


@pytest.mark.parametrize("is_utc", [True, False])
@pytest.mark.parametrize(("offset", "ppm"), [(0, 0), (5 * MS, 20), (-5 * MS, -20), (-17 * MS, 100)])
def test_offset_and_drift_are_found_and_all_is_matched(is_utc, offset, ppm):
    ends = ends_of_job()
    found = job(lane(ends, clock=0), lane(ends, clock=1, ahead=offset, ppm=ppm), is_utc=is_utc)
    assert matched(found, 0, 1) == in_order(len(ends))
    for time in (int(ends.min()), int(ends.max())):
        assert abs(ahead(found, 1, time + offset) - (offset + time * ppm // 1_000_000)) <= 3 * US
    assert 0 < found.alignments[1].residual_ns <= 4 * US
    assert found.alignments[1].collectives == len(ends)


def test_waits_and_transfers_are_those_of_one_clock():
    ends = ends_of_job()
    apart = job(lane(ends, clock=0), lane(ends, clock=1, ahead=5 * MS))
    one = lane(ends, clock=1)
    together = job(
        lane(ends, clock=0), LaneCommunication(**{**{n: getattr(one, n) for n in one.__slots__}, "clock": 0})
    )
    for mine, theirs in zip(apart.times, together.times, strict=True):
        assert (mine.transfer_starts - mine.starts).tolist() == (theirs.transfer_starts - theirs.starts).tolist()
        assert mine.late_lanes.tolist() == theirs.late_lanes.tolist()


def test_a_capture_that_began_a_step_later_is_matched_by_the_wall_clock():
    """By order alone the first step there would be the first step here: as many operations, the same kinds."""
    ends = np.sort(ends_of_job())
    found = job(lane(ends[:-3], clock=0), lane(ends[3:], clock=1, ahead=2 * MS))
    assert matched(found, 0, 1) == {(n + 3, n) for n in range(len(ends) - 6)}


def test_rows_lost_on_both_sides_leave_all_others_matched():
    ends = np.sort(ends_of_job())
    here, there = np.delete(ends, [20, 70]), np.delete(ends, [50, 51])
    found = job(lane(here, clock=0), lane(there, clock=1, ahead=3 * MS, ppm=15), is_utc=True)
    place = {int(end): at for at, end in enumerate(here)}
    expected = {(place[int(end)], at) for at, end in enumerate(there) if int(end) in place}
    assert len(expected) == len(ends) - 4
    assert matched(found, 0, 1) == expected


def test_told_rows_lost_on_both_sides_are_not_paired_by_their_number():
    ends = np.sort(ends_of_job())
    here, there = np.delete(ends, [20]), np.delete(ends, [50])
    found = job(lane(here, clock=0, communicators=7), lane(there, clock=1, ahead=3 * MS, communicators=7))
    assert (20, 20) not in matched(found, 0, 1)
    assert len(matched(found, 0, 1)) == len(ends) - 2


def test_hosts_in_lockstep_do_not_share_what_each_runs_by_itself():
    """Each host gathers its own shards at nearly the time the other does; only the all-reduces are common."""
    common, rng = ends_of_job(), np.random.default_rng(7)
    own = [ends_of_job(per_step=(2, 5, 9, 12, 16, 22)) + rng.integers(-400 * US, 400 * US, 6 * STEPS) for _ in range(2)]
    lanes = [lane(common, clock=clock, ahead=4 * MS * clock) for clock in (0, 1)]
    gathers = [lane(own[c], clock=c, ahead=4 * MS * c, operations=GATHER) for c in (0, 1)]
    found = job(*lanes, *gathers)
    assert abs(ahead(found, 1, S) - 4 * MS) <= 3 * US
    assert matched(found, 0, 1) == in_order(len(common))
    assert len(matched(found, 2, 3)) <= len(own[0]) // 4


def test_hosts_without_a_common_communicator_are_aligned_by_way_of_others():
    first, second = ends_of_job(seed=1), ends_of_job(seed=2, per_step=(4, 13, 27))
    found = job(
        lane(first, clock=0, communicators=7),
        lane(first, clock=1, ahead=3 * MS, communicators=7),
        lane(second, clock=1, ahead=3 * MS, communicators=8),
        lane(second, clock=2, ahead=-2 * MS, communicators=8),
    )
    assert [one.parent for one in found.alignments] == [0, 0, 1]
    assert abs(ahead(found, 2, S) + 2 * MS) <= 6 * US
    near, far = found.alignments[1].residual_ns, found.alignments[2].residual_ns
    assert near < far <= 10 * US  # what was uncertain on the way is added


def test_sends_alone_are_enough():
    ends = ends_of_job()
    found = job(*(lane(ends, clock=clock, ahead=MS * clock, operations=SEND) for clock in (0, 1)))
    assert abs(ahead(found, 1, S) - MS) <= 3 * US


@pytest.mark.parametrize("communicator", [NOT_KNOWN, 7])
def test_clocks_more_than_a_step_apart_are_an_error(communicator):
    ends = ends_of_job()
    lanes = [lane(ends, clock=c, ahead=60 * MS * c, communicators=communicator) for c in (0, 1)]
    with pytest.raises(InconclusiveError, match=r"node1 is 60\.00 ms ahead of that of node0, more than a step"):
        job(*lanes)
    with pytest.raises(InconclusiveError, match="is 3,600"):
        job(lanes[0], lane(ends, clock=1, ahead=3_600 * S, communicators=communicator))


def test_without_wall_clocks_any_offset_is_accepted():
    ends = ends_of_job()
    found = job(*(lane(ends, clock=clock, ahead=3_600 * S * clock) for clock in (0, 1)), is_utc=False)
    assert matched(found, 0, 1) == in_order(len(ends))


def test_one_operation_each_proves_nothing_against_the_wall_clock():
    found = job(lane(np.array([MS]), clock=0), lane(np.array([MS]), clock=1, ahead=3_600 * S))
    assert matched(found, 0, 1) == set()


def test_reports_of_a_host_count_from_their_own_time_zero():
    ends = ends_of_job()
    lanes = [lane(ends, clock=0, jitter=0), lane(ends - 7 * S, clock=0, jitter=0)]
    found = match_job(lanes, [Clock(name="node0", is_utc=True)], rebased=[0, 7 * S], step_ns=STEP)
    assert matched(found, 0, 1) == in_order(len(ends))
    assert (found.times[1].ends == lanes[1].ends).all()
