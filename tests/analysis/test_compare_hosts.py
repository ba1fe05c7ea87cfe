"""A slow machine is told from a slow GPU, and a slow network card from a slow link."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gapfinder.analysis.compare_hosts import compare_hosts
from gapfinder.analysis.step_waits import Waits, lane_steps
from gapfinder.analysis.stragglers import StepTable
from gapfinder.analysis.tracks import NOT_KNOWN
from gapfinder.explanations import CollectiveSummary

NAN = float("nan")
MS = 1_000_000


def table(*own: list[float]) -> StepTable:
    """Own times by step and lane in ms; compute is a tenth less."""
    times = np.array(own) * MS
    return StepTable(np.arange(3, 3 + len(times)), times, times, times * 0.9, times * 0, times * 0, times * 0)


def collective(lanes: tuple[int, ...], bandwidth: float | None, transfer_ns: int = 10 * MS) -> CollectiveSummary:
    return CollectiveSummary(
        operation="SendRecv",
        communicator=f"{lanes}",
        instances=10,
        unmatched=0,
        lanes=lanes,
        per_step=1.0,
        bytes_total=None,
        total_ns=transfer_ns,
        hidden_ns=0,
        exposed_ns=transfer_ns,
        wait_ns=0,
        transfer_ns=transfer_ns,
        algorithm_bandwidth=bandwidth,
        bus_bandwidth=bandwidth,
        ideal_ns=None,
        late_lane=None,
        late_share=None,
    )


def hosts(names: str, times: StepTable, *collectives: CollectiveSummary):
    caused = np.arange(len(names)) * MS
    return compare_hosts(list(names), times, collectives=collectives, caused=caused)


def test_one_host_has_nothing_to_be_compared_with():
    assert hosts("aa", table([10, 20])) == ()


def test_equal_hosts_are_not_slow():
    for one in hosts("aabb", table([10, 10.5, 9.9, 10], [10, 10, 10.2, 10])):
        assert not one.is_slow
        assert one.slow_steps == (0, 2)
        assert one.transfer_ratio is None


def test_one_slow_gpu_is_no_slow_host():
    _, slow = hosts("aabb", table([10, 10, 10, 20], [10, 10, 10, 20]))
    assert not slow.is_slow
    assert slow.own_ratio == 1.0


def test_a_host_of_one_lane_is_not_told_from_its_gpu():
    assert not any(one.is_slow for one in hosts("aab", table([10, 10, 20], [10, 10, 20])))


def test_a_host_is_slow_when_its_fastest_lane_is():
    quick, slow, other = hosts("aabbcc", table([10, 10, 13, 12, 10, 10], [10, 10, 12, 15, 10, 10]))
    assert (quick.is_slow, slow.is_slow, other.is_slow) == (False, True, False)
    assert slow.own_ratio == pytest.approx(1.2)
    assert slow.slow_steps == (2, 2)
    assert (slow.lanes, slow.caused_wait_ns) == ((2, 3), 5 * MS)
    assert (slow.own_ns, slow.compute_ns) == (12_500_000, 11_250_000)


def test_half_of_the_steps_are_not_most():
    assert not any(one.is_slow for one in hosts("aabb", table([10, 10, 12, 12], [10, 10, 10, 10])))


def test_steps_that_only_one_side_has_are_not_compared():
    _, slow = hosts("aabb", table([NAN, NAN, 20, 20], [10, NAN, 12, NAN]))
    assert slow.slow_steps == (1, 1)


def test_hosts_without_common_steps_are_not_judged():
    for one in hosts("aabb", table([NAN] * 4)):
        assert (one.own_ns, one.own_ratio, one.slow_steps, one.is_slow) == (None, None, (0, 0), False)


def ring(*bandwidths: float | None, transfers: tuple[int, ...] = (10 * MS,) * 4) -> list[CollectiveSummary]:
    """Links between neighbours of four hosts of one lane each."""
    return [
        collective((at, (at + 1) % 4), bandwidth, ns)
        for at, (bandwidth, ns) in enumerate(zip(bandwidths, transfers, strict=True))
    ]


ALIKE = table([10, 10, 10, 10])


def test_equal_links_are_no_slow_nic():
    assert [one.has_slow_nic for one in hosts("abcd", ALIKE, *ring(4e9, 4.1e9, 3.9e9, 4e9))] == [False] * 4


def test_one_slow_link_may_be_either_ends():
    assert [one.has_slow_nic for one in hosts("abcd", ALIKE, *ring(4e9, 1e9, 4e9, 4e9))] == [False] * 4


def test_two_slow_links_name_the_host_between():
    found = hosts("abcd", ALIKE, *ring(1e9, 1e9, 4e9, 4e9))
    assert [one.has_slow_nic for one in found] == [False, True, False, False]
    assert found[1].transfer_ratio == pytest.approx(4)


def test_without_bytes_transfer_time_is_compared():
    found = hosts("abcd", ALIKE, *ring(None, None, None, None, transfers=(30 * MS, 30 * MS, 10 * MS, 10 * MS)))
    assert [one.has_slow_nic for one in found] == [False, True, False, False]


def test_operations_without_a_partner_do_not_shorten_the_transfers_of_the_others():
    """Ten of each link met; those of one host had 30 operations more that met nobody."""
    equal = ring(None, None, None, None)
    more = [replace(one, instances=40, unmatched=30) if 1 in one.lanes else one for one in equal]
    assert [one.transfer_ratio for one in hosts("abcd", ALIKE, *more)] == [1.0] * 4


def test_collectives_of_all_hosts_and_inside_one_tell_nothing():
    everything = [collective((0, 1, 2, 3), 1e9), collective((0, 1), 9e9)]
    assert [one.transfer_ratio for one in hosts("aabb", ALIKE, *everything)] == [None, None]


def waits(*rows: tuple[int, int, int, int]) -> Waits:
    """(lane, late lane, step, ms) of each wait."""
    columns = np.array(rows, np.int64).reshape(-1, 4).T
    return Waits(columns[0], columns[1], columns[2], columns[3] * MS)


def test_steps_without_waits_have_no_critical_lane():
    steps = lane_steps(table([10, 11], [10, NAN]), waits())
    assert steps is not None
    assert steps.own_ns == ((10 * MS, 11 * MS), (10 * MS, None))
    assert steps.wait_ns == ((0, 0), (0, None))
    assert (steps.critical_lanes, steps.critical_wait_ns) == ((None, None), (0, 0))


def test_the_critical_lane_is_whom_the_others_waited_for_longest():
    found = waits((0, 2, 3, 5), (1, 2, 3, 4), (2, 1, 3, 8), (0, 1, 4, 1), (1, 0, NOT_KNOWN, 99), (1, 0, 77, 99))
    steps = lane_steps(table([10, 10, 10], [10, 10, 10]), found)
    assert steps is not None
    assert steps.numbers == (3, 4)
    assert steps.wait_ns == ((5 * MS, 4 * MS, 8 * MS), (MS, 0, 0))
    assert (steps.critical_lanes, steps.critical_wait_ns) == ((2, 1), (9 * MS, MS))
    assert found.caused_by(lanes=3).tolist() == [198 * MS, 9 * MS, 9 * MS]
