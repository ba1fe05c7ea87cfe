"""What is said of a measurement: quiet where all is well, and each fault with its place and its numbers."""

from __future__ import annotations

import pytest
from comm_values import MB, both, measured, pair, probed, rank

from gapfinder.cost import Operation
from gapfinder.doctor import Status
from gapfinder.doctor.comm import CODES, checks_of, find_link
from gapfinder.errors import InputError


def said(result, *, link=None, **outcome):
    found = checks_of(probed(result, **outcome), link=None if link is None else find_link(link))
    assert [check.code for check in found] == list(CODES)
    return {check.code: (check.status, check.seen) for check in found}


@pytest.mark.parametrize("hosts", ["abc", "aaaa", "aabb", "aaabbbccc", "abcdefgh"])
def test_nothing_is_slow_where_all_are_alike(hosts):
    found = said(measured(hosts), link="8Gb/s")
    assert {status for status, _ in found.values()} == {Status.OK}


def test_what_is_not_known_is_not_checked():
    found = said(measured("ab"))
    for code in ("comm-cards", "comm-links", "comm-given"):
        assert found[code][0] is Status.NOT_CHECKED
    assert found["comm-ranks"] == (Status.OK, "2 ranks on 2 hosts: a, b")


def test_without_a_result_only_that_is_said():
    found = said(None, lost="rank 2 never came", exit_code=None)
    assert found.pop("comm-ranks") == (Status.FAILURE, "rank 2 never came")
    assert set(found.values()) == {(Status.NOT_CHECKED, "nothing was measured")}


def test_a_rank_that_is_slow_with_all_others_is_named_with_its_host():
    slow = both("0-2 1-2 2-3", 250.0)
    status, seen = said(measured("abcd", slow))["comm-cards"]
    assert status is Status.FAILURE
    assert seen == (
        "rank 2 (c) is slow with every rank: at best 250.0 MB/s, and 1.000 GB/s is typical without it (4.0 times slower)"
    )


def test_the_direction_is_said_where_the_other_is_well():
    sending = {"2>0": 100.0, "2>1": 100.0, "2>3": 125.0}
    assert "at best 125.0 MB/s when sending, and" in said(measured("abcd", sending))["comm-cards"][1]
    receiving = {"0>2": 100.0, "1>2": 100.0, "3>2": 125.0}
    assert "at best 125.0 MB/s when receiving, and" in said(measured("abcd", receiving))["comm-cards"][1]


def test_a_slow_link_is_named_by_its_ends_and_direction():
    status, seen = said(measured("abcd", {"3>1": 200.0}))["comm-links"]
    assert (status, seen) == (
        Status.FAILURE,
        "between rank 1 (b) and rank 3 (d): 200.0 MB/s from rank 3 to rank 1, and 1.000 GB/s is the median (5.0 times slower)",
    )
    _, seen = said(measured("aaaa", both("0-3", 500.0)))["comm-links"]
    assert seen == "between ranks 0 and 3 of a: 500.0 MB/s, and 1.000 GB/s is the median (2.0 times slower)"


def test_a_host_whose_ranks_are_all_slow_is_one_fault():
    ranks = "aabbccdd"
    slow = {f"{one}>{other}": 90.0 for one in (4, 5) for other in (0, 1, 2, 3, 6, 7)}
    found = said(measured(ranks, slow))
    assert found["comm-cards"][1].startswith("host c is slow with every other host: at best 90.00 MB/s when sending")
    assert "rank" not in found["comm-cards"][1].replace("ranks", "")
    assert found["comm-links"][0] is Status.OK


def test_one_card_of_a_host_with_several_is_told_from_the_host():
    slow = both("5-0 5-1 5-2 5-3 5-6 5-7", 90.0)
    found = said(measured("aabbccdd", slow))
    assert found["comm-cards"][1].startswith("rank 5 (c) is slow with every rank: at best 90.00 MB/s, and 1.000 GB/s")
    assert found["comm-cards"][1].count("slow with") == 1


def test_a_route_between_two_hosts_is_one_fault():
    slow = both("0-4 0-5 1-4 1-5", 300.0)
    found = said(measured("aabbcc", slow))
    assert found["comm-links"][1] == (
        "between hosts a and c: 300.0 MB/s, and 1.000 GB/s is the median (3.3 times slower)"
    )
    assert found["comm-cards"][0] is Status.OK


def test_pairs_within_hosts_are_judged_apart_from_those_between():
    fast = both("0-1 0-2 1-2 3-4 3-5 4-5", 40_000.0)
    assert {status for status, _ in said(measured("aaabbb", fast), link="8Gb/s").values()} == {Status.OK}
    _, seen = said(measured("aaabbb", fast | both("3-5", 10_000.0)))["comm-links"]
    assert seen.startswith("between ranks 3 and 5 of b: 10.00 GB/s, and 40.00 GB/s is the median")


def test_gloo_on_cpus_is_given_more_room():
    twice = both("0-2 1-2 2-3", 450.0)
    assert said(measured("abcd", twice))["comm-cards"][0] is Status.FAILURE
    assert said(measured("abcd", twice, backend="gloo"))["comm-cards"][0] is Status.OK
    assert said(measured("abcd", both("0-2 1-2 2-3", 300.0), backend="gloo"))["comm-cards"][0] is Status.FAILURE


def test_too_many_slow_pairs_are_a_warning():
    slow = both("0-1 2-3 4-5 6-7 0-7 1-6 2-5 3-4", 100.0)
    status, seen = said(measured("abcdefgh", slow))["comm-links"]
    assert (status, seen[:30]) == (Status.WARNING, "8 of 28 pairs between hosts ar")


def test_what_is_uneven_without_one_cause_is_a_warning():
    status, seen = said(measured("abcd", both("2-3", 4_000.0)))["comm-links"]  # two cards are slow, or a pair is fast
    assert (status, seen) == (
        Status.WARNING,
        "pairs between hosts differ by 4.0 times, and no single card or link explains it",
    )


def test_the_given_link_is_that_between_hosts_where_there_are_several():
    result = measured("aabb", both("0-1 2-3", 40_000.0))
    assert said(result, link="10Gb/s")["comm-given"] == (
        Status.OK,
        "pairs between hosts have 1.000 GB/s, 80.0 % of 1.250 GB/s",
    )
    assert said(result, link="16 Gb/s")["comm-given"][0] is Status.OK
    status, seen = said(measured("ab", {"1>0": 400.0}), link="8Gb/s")["comm-given"]
    assert status is Status.FAILURE
    assert seen.endswith("the slowest is of ranks 0 and 1: 400.0 MB/s, 40.0 %")


def test_a_link_is_a_bandwidth_or_a_known_gpu():
    assert find_link("100Gb/s").bandwidth == 12_500 * MB
    assert (find_link("NVIDIA H200").bandwidth, find_link("H200").name) == (450_000 * MB, "NVLink 4 of H200")
    with pytest.raises(InputError, match=r"not a bandwidth: 'H2000'.*name of a GPU"):
        find_link("H2000")


def test_ranks_that_differ_are_named():
    ranks = (rank(0, "a"), rank(1, "b", torch="2.7.0"), rank(2, "c", nccl="2.19.3", torch="2.7.0"))
    status, seen = said(measured("abc", ranks=ranks))["comm-versions"]
    assert status is Status.FAILURE
    assert "NCCL differs: 2.21.5 (ranks 0 to 1), 2.19.3 (rank 2)" in seen
    assert "torch differs: 2.6.0 (rank 0), 2.7.0 (ranks 1 to 2)" in seen


def test_a_rank_without_a_gpu_among_others_is_a_failure():
    ranks = (rank(0, "a"), rank(1, "b", gpus=0, device=None, gpu=None, nccl=None), rank(2, "c"))
    status, seen = said(measured("abc", ranks=ranks, backend="gloo"))["comm-backend"]
    assert (status, seen) == (
        Status.FAILURE,
        "rank 1 (b) without a GPU of its own, others have one: measured with gloo on CPUs",
    )
    none = tuple(rank(number, "a", gpus=0, device=None) for number in range(3))
    assert said(measured("aaa", ranks=none, backend="gloo"))["comm-backend"][0] is Status.OK
    shared = tuple(rank(number, "a", gpus=1, device=None) for number in range(3))
    assert said(measured("aaa", ranks=shared, backend="gloo"))["comm-backend"][0] is Status.WARNING


def test_what_there_was_no_time_for_is_said():
    result = measured("abc", skipped=((Operation.ALL_GATHER, 64 * MB),), pairs=(pair(0, 1, there=1.0),))
    assert said(result)["comm-complete"] == (Status.WARNING, "no time for all-gather of 64.00 MB, 2 of 3 pairs")


def test_a_launcher_that_fails_after_the_measurement_is_a_warning():
    status, seen = said(measured("abc"), exit_code=1)["comm-ranks"]
    assert (status, seen) == (
        Status.WARNING,
        "3 ranks on 3 hosts; the launcher ended with exit code 1 after all was measured",
    )


def test_bus_bandwidth_is_what_each_link_carries():
    (one,) = measured("abcd").collectives
    assert (one.algorithm_bandwidth, one.bus_bandwidth) == (8 * MB, 8 * MB * 2 * 3 / 4)
