"""Collectives are found on all their lanes, wait and transfer add up, and what is in doubt stays unmatched."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapfinder.analysis.alignment import Clock, match_job
from gapfinder.analysis.hints import OPERATIONS
from gapfinder.analysis.matching import NOT_KNOWN, CommunicationTimes, LaneCommunication

US, MS = 1_000, 1_000_000
REDUCE, GATHER, SEND, BROADCAST = (OPERATIONS.index(o) for o in ("AllReduce", "AllGather", "SendRecv", "Broadcast"))


def lane(*spans: tuple[int, int], file=0, streams=None, operations=None, communicators=None) -> LaneCommunication:
    """One lane's operations as (start, end) in µs, all-reduces on one stream unless told."""
    count = len(spans)
    return LaneCommunication(
        clock=file,
        starts=np.array([start * US for start, _ in spans], np.int64),
        ends=np.array([end * US for _, end in spans], np.int64),
        streams=np.array(streams or [0] * count, np.int64),
        operations=np.array(operations or [REDUCE] * count, np.int64),
        communicators=np.array(communicators or [NOT_KNOWN] * count, np.int64),
    )


def match_lanes(lanes: list[LaneCommunication]) -> list[CommunicationTimes]:
    """Match lanes whose reports tell no wall clock."""
    count = max((one.clock for one in lanes), default=-1) + 1
    clocks = [Clock(name=f"report {number}", is_utc=False) for number in range(count)]
    return match_job(lanes, clocks).times


def groups(lanes: list[LaneCommunication]) -> set[frozenset[tuple[int, int]]]:
    """Return the collectives found, each as the (lane, row) pairs in it."""
    found: dict[int, set[tuple[int, int]]] = {}
    for number, times in enumerate(match_lanes(lanes)):
        for row, instance in enumerate(times.instances.tolist()):
            if instance != NOT_KNOWN:
                found.setdefault(instance, set()).add((number, row))
    return {frozenset(group) for group in found.values()}


def pairs(*rows: tuple[int, int]) -> set[frozenset[tuple[int, int]]]:
    return {frozenset({(0, one), (1, other)}) for one, other in rows}


def test_p44_the_shortest_is_the_transfer_and_came_last():
    first, second = match_lanes([lane((0, 50)), lane((40, 50))])
    assert first.transfer_starts.tolist() == [40 * US]
    assert second.transfer_starts.tolist() == [40 * US]
    assert first.late_lanes.tolist() == second.late_lanes.tolist() == [1]


def test_equally_long_ones_have_no_late_lane():
    for times in match_lanes([lane((0, 50)), lane((0, 50))]):
        assert times.transfer_starts.tolist() == [0]
        assert times.late_lanes.tolist() == [NOT_KNOWN]


def test_two_that_came_last_together_are_not_told_apart():
    assert {t.late_lanes[0] for t in match_lanes([lane((0, 50)), lane((40, 50)), lane((40, 50))])} == {NOT_KNOWN}


def test_p44_one_lane_has_nothing_to_compare():
    (times,) = match_lanes([lane((0, 50), (60, 70))])
    assert times.instances.tolist() == times.transfer_starts.tolist() == times.late_lanes.tolist() == [NOT_KNOWN] * 2


@pytest.mark.parametrize("empty", [[], [lane()], [lane(), lane((0, 5))]])
def test_nothing_to_match(empty):
    assert groups(empty) == set()


def test_streams_need_not_have_the_same_number():
    assert groups([lane((0, 50), streams=[7]), lane((10, 51), streams=[15])]) == pairs((0, 0))


def test_rows_may_come_in_any_order():
    assert groups([lane((1000, 1050), (0, 50)), lane((0, 50), (1000, 1050))]) == pairs((0, 1), (1, 0))


def test_different_operations_are_not_one_collective():
    assert groups([lane((0, 50)), lane((0, 50), operations=[GATHER])]) == set()


def test_what_does_not_end_together_is_not_one_collective():
    assert groups([lane((0, 50), (1000, 1050)), lane((400, 450), (1500, 1550))]) == set()


def test_replicas_at_different_paces_are_told_apart():
    one = [(n * 1000, n * 1000 + 500) for n in range(10)]
    other = [(start + 200, end + 200) for start, end in one]
    found = groups([lane(*one), lane(*other), lane(*one), lane(*other)])
    assert found == {frozenset({(a, n), (a + 2, n)}) for a in (0, 1) for n in range(10)}


def test_a_lane_whose_capture_starts_later_is_aligned():
    whole = [(n * 1000 + 37 * n * n, n * 1000 + 37 * n * n + 400) for n in range(12)]
    assert groups([lane(*whole), lane(*whole[3:])]) == pairs(*((n, n - 3) for n in range(3, 12)))


def test_lost_rows_in_the_middle_leave_the_others_matched():
    whole = [(n * 10_000 + 370 * n * n, n * 10_000 + 370 * n * n + 400) for n in range(8)]
    assert groups([lane(*whole[:2], *whole[3:]), lane(*whole[:6], whole[7])]) == pairs(
        (0, 0), (1, 1), (2, 3), (3, 4), (4, 5), (6, 6)
    )


def test_a_broadcast_may_end_early_at_its_root():
    operations = [REDUCE, BROADCAST, REDUCE]
    root = lane((0, 50), (1000, 1010), (2000, 2050), operations=operations)
    other = lane((0, 50), (1200, 1300), (2000, 2050), operations=operations)
    assert groups([root, other]) == pairs((0, 0), (1, 1), (2, 2))


def test_communicators_keep_operations_apart_that_one_stream_carries():
    one = lane((0, 100), (200, 300), communicators=[11, 22])
    other = lane((200, 300), (0, 100), communicators=[22, 11])
    assert groups([one, other]) == pairs((0, 1), (1, 0))
    assert groups([one, lane((0, 100), (200, 300), communicators=[33, 44])]) == set()


def test_sends_go_to_the_neighbour_that_receives():
    """Stage 1 receives from 0 on one stream and sends to 2 on another; all carry one number of operations."""
    left = [(n * 1000, n * 1000 + 200) for n in range(6)]
    right = [(start + 500, end + 500) for start, end in left]
    sends = {"operations": [SEND] * 6}
    middle = lane(*left, *right, streams=[1] * 6 + [2] * 6, operations=[SEND] * 12)
    found = groups([lane(*left, **sends), middle, lane(*right, **sends)])
    assert found == {frozenset({(0, n), (1, n)}) for n in range(6)} | {
        frozenset({(1, 6 + n), (2, n)}) for n in range(6)
    }


def test_one_stream_may_talk_to_two_neighbours():
    left = [(n * 1000 + 31 * n * n, n * 1000 + 31 * n * n + 200) for n in range(6)]
    right = [(start + 500, end + 500) for start, end in left]
    sends = {"operations": [SEND] * 6}
    found = groups([lane(*left, **sends), lane(*left, *right, operations=[SEND] * 12), lane(*right, **sends)])
    assert found == {frozenset({(0, n), (1, n)}) for n in range(6)} | {
        frozenset({(1, 6 + n), (2, n)}) for n in range(6)
    }


def test_files_are_matched_by_order_whatever_their_clocks():
    here = [(0, 50), (1000, 1080), (1900, 2000)]
    there = [(start + 777_000 + wait, end + 777_000) for (start, end), wait in zip(here, (30, 0, 20), strict=True)]
    first, second = match_lanes([lane(*here), lane(*there, file=1)])
    assert groups([lane(*here), lane(*there, file=1)]) == pairs((0, 0), (1, 1), (2, 2))
    assert (first.transfer_starts - first.starts).tolist() == [30 * US, 0, 20 * US]
    assert (second.transfer_starts - second.starts).tolist() == [0, 0, 0]


def test_files_whose_clocks_would_have_to_jump_are_not_matched():
    assert (
        groups([lane((0, 50), (1000, 1050), (2000, 2050)), lane((0, 50), (1400, 1450), (5000, 5050), file=1)]) == set()
    )


def test_a_file_that_was_cut_is_aligned_by_the_pace():
    whole = [(n * 1000 + 37 * n * n, n * 1000 + 37 * n * n + 400) for n in range(12)]
    late = [(start + 5_000_000, end + 5_000_000) for start, end in whole[3:]]
    assert groups([lane(*whole), lane(*late, file=1)]) == pairs(*((n, n - 3) for n in range(3, 12)))


def test_a_cut_that_fits_in_several_places_stays_unmatched():
    even = [(n * 1000, n * 1000 + 400) for n in range(12)]
    assert groups([lane(*even), lane(*even[3:], file=1)]) == set()


def clocks(count: int, *, pace: int, without: tuple[int, int] | None = None, drift: float = 0.0):
    """Two files that run the same collectives at an even pace in µs; each may lack one of them."""
    lacking = without or (count, count)
    here = [(n * pace, n * pace + 400) for n in range(count)]
    there = [(start + 7_000_000, start + 7_000_400) for start in (round(n * pace * (1 + drift)) for n in range(count))]
    rows = [[n for n in range(count) if n != one] for one in lacking]
    lanes = [
        lane(*(spans[n] for n in own), file=file)
        for file, (spans, own) in enumerate(zip((here, there), rows, strict=True))
    ]
    return lanes, rows


@pytest.mark.parametrize("drift", [-60e-6, 5e-6, 60e-6])
def test_clocks_that_drift_keep_every_collective(drift):
    lanes, _ = clocks(50, pace=500_000, drift=drift)
    assert groups(lanes) == pairs(*((n, n) for n in range(50)))


@pytest.mark.parametrize("without", [(100, 103), (100, 150), (90, 40), (230, 270)])
def test_between_two_lost_rows_time_repairs_the_order(without):
    """There every row is beside its neighbour's partner, with a clock offset that is steady, and wrong."""
    lanes, rows = clocks(300, pace=2_000, without=without)
    met = {tuple(rows[number][row] for number, row in sorted(group)) for group in groups(lanes)}
    assert met == {(n, n) for n in range(300) if n not in without}


def test_an_order_that_slips_for_long_tells_nothing():
    lanes, _ = clocks(300, pace=2_000, without=(100, 200))
    assert groups(lanes) == set()


@st.composite
def trainings(draw: st.DrawFn) -> list[LaneCommunication]:
    """Lanes of one or two files that run the same collectives, each arriving when it likes."""
    count, lanes = draw(st.integers(1, 12)), draw(st.integers(2, 5))
    gaps = draw(st.lists(st.integers(1000, 5000), min_size=count, max_size=count))
    transfers = draw(st.lists(st.integers(10, 400), min_size=count, max_size=count))
    operations = draw(st.lists(st.sampled_from([REDUCE, GATHER]), min_size=count, max_size=count))
    ends = np.cumsum(gaps).tolist()
    made = []
    for _ in range(lanes):
        file = draw(st.integers(0, 1))
        early = draw(st.lists(st.integers(0, 500), min_size=count, max_size=count))
        clock = 10_000_000 * file
        spans = [(clock + e - t - w, clock + e) for e, t, w in zip(ends, transfers, early, strict=True)]
        made.append(lane(*spans, file=file, operations=operations))
    return made


@given(trainings())
def test_wait_and_transfer_add_up_and_all_lanes_meet(lanes):
    found = match_lanes(lanes)
    count = len(lanes[0])
    assert groups(lanes) == {frozenset((number, row) for number in range(len(lanes))) for row in range(count)}
    lengths = np.array([one.ends - one.starts for one in lanes])
    for one, times in zip(lanes, found, strict=True):
        wait, transfer = times.transfer_starts - one.starts, one.ends - times.transfer_starts
        assert (wait >= 0).all()
        assert (transfer == lengths.min(axis=0)).all()
        for row, late in enumerate(times.late_lanes.tolist()):
            alone = (lengths[:, row] == lengths[:, row].min()).sum() == 1
            assert late == (int(lengths[:, row].argmin()) if alone else NOT_KNOWN)


@given(trainings(), st.randoms(use_true_random=False))
def test_the_order_of_lanes_only_renames_them(lanes, random):
    order = list(range(len(lanes)))
    random.shuffle(order)
    moved = match_lanes([lanes[at] for at in order])
    for place, at in enumerate(order):
        straight = match_lanes(lanes)[at]
        assert moved[place].transfer_starts.tolist() == straight.transfer_starts.tolist()
        late = [order[one] if one != NOT_KNOWN else NOT_KNOWN for one in moved[place].late_lanes.tolist()]
        assert late == straight.late_lanes.tolist()


@given(trainings(), st.data())
def test_rows_that_are_gone_are_never_matched_to_others(lanes, data):
    """What stays matched after rows were lost on one lane was one collective before."""
    victim = data.draw(st.integers(0, len(lanes) - 1))
    kept = data.draw(st.sets(st.integers(0, len(lanes[0]) - 1)))
    rows = np.array(sorted(kept), np.int64)
    names = ("starts", "ends", "streams", "operations", "communicators")
    cut = LaneCommunication(clock=lanes[victim].clock, **{n: getattr(lanes[victim], n)[rows] for n in names})
    for group in groups([cut if at == victim else one for at, one in enumerate(lanes)]):
        assert len({int(rows[row]) if at == victim else row for at, row in group}) == 1


def test_a_communicator_tells_what_the_order_cannot():
    here, there = [(0, 50), (1000, 1050)], [(90_000, 90_050), (91_000, 91_050)]
    for communicator, found in ((7, pairs((0, 0), (1, 1))), (8, set())):
        lanes = [lane(*here, communicators=[7, 7]), lane(*there, communicators=[communicator] * 2, file=1)]
        assert groups(lanes) == found


def test_replicas_in_other_files_that_only_nearly_fit_are_left_out():
    """Two pairs of stages, each in its own file: the partner fits best, the other pair's lanes drift by 30 µs."""
    spans = [(n * 5000, n * 5000 + 400) for n in range(10)]
    drifting = [(start + 30 * (n % 2), end + 30 * (n % 2)) for n, (start, end) in enumerate(spans)]
    sends = [SEND] * 10
    found = groups([lane(*x, file=n, operations=sends) for n, x in enumerate((spans, drifting, spans, drifting))])
    assert found == {frozenset({(a, n), (a + 2, n)}) for a in (0, 1) for n in range(10)}


@pytest.mark.parametrize("file", [0, 1])
def test_many_are_matched_in_time_that_grows_with_them_alone(file):
    """A quadratic way would need terabytes for these."""
    ends = np.cumsum(np.random.default_rng(5).integers(200_000, 400_000, 100_000))
    zeros = np.zeros(len(ends), np.int64)
    lanes = [
        LaneCommunication(
            clock=file * number,
            starts=ends - 100_000 - 5_000 * number,
            ends=ends,
            streams=zeros,
            operations=zeros,
            communicators=zeros + NOT_KNOWN,
        )
        for number in range(3)
    ]
    for number, times in enumerate(match_lanes(lanes)):
        assert (times.transfer_starts - times.starts == 5_000 * number).all()
        assert (times.late_lanes == 0).all()
