"""The parts of the program that every rank of `gapfinder doctor --comm` runs: turns, orders, meeting and telling."""

from __future__ import annotations

import json
import os
from itertools import combinations

import pytest

from gapfinder.training.startup._gapfinder_comm import conducting
from gapfinder.training.startup._gapfinder_comm.conducting import conduct
from gapfinder.training.startup._gapfinder_comm.meeting import NoAddressError, address
from gapfinder.training.startup._gapfinder_comm.telling import MARK, Teller
from gapfinder.training.startup._gapfinder_comm.turns import tournament, turns


@pytest.mark.parametrize("hosts", ["aa", "abc", "aaaa", "aabb", "abcd", "aaabbc", "aabbccdd", "abcdefg", "abababab"])
def test_every_pair_has_one_turn_and_no_host_is_in_two_pairs_at_once(hosts):
    plan = turns(list(hosts))
    assert sorted(pair for turn in plan for pair in turn) == list(combinations(range(len(hosts)), 2))
    for turn in plan:
        busy = [host for one, other in turn for host in {hosts[one], hosts[other]}]
        assert len(busy) == len(set(busy))


def test_hosts_are_busy_at_once():
    assert [len(turn) for turn in turns(list("abcd"))] == [2, 2, 2]
    assert [len(turn) for turn in turns(list("abcdefgh"))] == [4] * 7
    assert [len(turn) for turn in turns(list("aaaa"))] == [1] * 6
    assert turns(list("aabb"))[:3] == [[(0, 1), (2, 3)], [(0, 2)], [(1, 3)]]  # the same places come first


def test_in_a_tournament_all_meet_once():
    rounds = list(tournament(list("abcde")))
    assert len(rounds) == 5
    assert {frozenset(met) for one in rounds for met in one} == {frozenset(met) for met in combinations("abcde", 2)}


class Clock:
    """Time that passes only while ranks work."""

    def __init__(self):
        self.now = 100.0

    def monotonic(self):
        return self.now

    def sleep(self, seconds):
        self.now += seconds


def conducted(monkeypatch, hosts, *, pair_ns, collective_ns=lambda _: 1_000_000, **how):
    """Return the orders and the report, with ranks that take the time that they are told to."""
    clock, orders, answers = Clock(), [], None
    monkeypatch.setattr(conducting, "time", clock)
    running = conduct(list(hosts), **({"backend": "gloo", "sizes": [], "seconds": 60.0} | how))
    while True:
        try:
            order = running.send(answers)
        except StopIteration as end:
            return orders, end.value, clock.now - 100.0
        orders.append(order)
        count = order["repeats"]
        if "pairs" in order:
            told = {rank: (pair_ns(rank, sum(pair) - rank), pair) for pair in order["pairs"] for rank in pair}
            answers = {rank: {"sent": [ns] * count, "latency": 5_000 + rank} for rank, (ns, _) in told.items()}
            clock.now += 2 * (count + 1) * max(ns for ns, _ in told.values()) / 1e9
        else:
            ns = collective_ns(order)
            answers = {rank: [ns - rank] * count for rank in range(len(hosts))}
            clock.now += (count + 1) * order["at_once"] * ns / 1e9


def test_where_all_is_alike_each_pair_is_measured_twice(monkeypatch):
    orders, report, _ = conducted(monkeypatch, "aaaa", pair_ns=lambda *_: 4_000_000)
    assert [row[:2] for row in report["pairs"]] == [list(pair) for pair in combinations(range(4), 2)]
    assert {tuple(row[2:4]) for row in report["pairs"]} == {(4_000_000, 4_000_000)}
    assert {row[5] for row in report["pairs"]} == {2}
    assert report["pairs_in_all"] == 6
    sizes = [(one["operation"], one["bytes"]) for one in report["collectives"]]
    wanted = [1_000, 16_000, 256_000, 4_000_000, 64_000_000]
    assert sizes == [("all-reduce", size) for size in wanted] + [
        ("all-gather", size)
        for size in [992, *wanted[1:]]  # four shares of 62 numbers of four bytes
    ]
    assert {one["ns"] for one in report["collectives"]} == {1_000_000}  # of the last rank
    assert all(3 <= order["repeats"] <= 15 for order in orders if order["repeats"] > 1)


def test_a_pair_that_seems_slow_is_measured_again_and_alone(monkeypatch):
    slow = {(0, 3): 90_000_000}

    def pair_ns(sender, receiver):
        return slow.get((sender, receiver), 4_000_000)

    orders, report, _ = conducted(monkeypatch, "abcd", pair_ns=pair_ns)
    times = {tuple(row[:2]): row[5] for row in report["pairs"]}
    assert times == {pair: 12 if pair == (0, 3) else 2 for pair in combinations(range(4), 2)}
    assert [order["pairs"] for order in orders[-10:]] == [[(0, 3)]] * 10
    assert next(row for row in report["pairs"] if row[:2] == [0, 3])[2:4] == [90_000_000, 4_000_000]


def test_what_disturbs_once_is_forgotten(monkeypatch):
    disturbed = [400_000_000, 300_000_000, 200_000_000, 100_000_000]

    def pair_ns(sender, receiver):
        return disturbed.pop() if (sender, receiver) == (1, 2) and disturbed else 4_000_000

    _, report, _ = conducted(monkeypatch, "aaa", pair_ns=pair_ns)
    assert next(row for row in report["pairs"] if row[:2] == [1, 2])[2:] == [4_000_000, 4_000_000, 5_001, 5]


def test_nothing_new_begins_after_the_time(monkeypatch):
    orders, report, took = conducted(
        monkeypatch,
        "abcdef",
        pair_ns=lambda *_: 2 * 10**9,
        collective_ns=lambda order: order["bytes"] * 1_000,
        seconds=20.0,
    )
    assert [one["bytes"] for one in report["skipped"] if one["operation"] == "all-reduce"] == [4_000_000, 64_000_000]
    assert 0 < len(report["pairs"]) < 15
    assert took < 20 + 2 * 2 * 2 + 1
    assert all(order["repeats"] == 1 for order in orders if "pairs" in order)


def test_sizes_are_shared_evenly_and_small_ones_follow_each_other_on_gpus(monkeypatch):
    orders, report, _ = conducted(monkeypatch, "abc", pair_ns=lambda *_: 10**6, backend="nccl", sizes=[1_000, 10**9])
    gathered = [one["bytes"] for one in report["collectives"] if one["operation"] == "all-gather"]
    assert gathered == [996, 999_999_996]
    assert {(order["bytes"] < 10**6, order["at_once"]) for order in orders if "pairs" not in order} == {
        (True, 20),
        (False, 1),
    }


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"MASTER_ADDR": "10.0.0.1", "LOCAL_WORLD_SIZE": "4"}, "10.0.0.1"),
        ({"OMPI_COMM_WORLD_LOCAL_SIZE": "4"}, "127.0.0.1"),
        ({"MPI_LOCALNRANKS": "4"}, "127.0.0.1"),
        ({"SLURM_STEP_NUM_NODES": "1", "SLURM_STEP_NODELIST": "n7"}, "127.0.0.1"),
        ({"SLURM_STEP_NUM_NODES": "2", "SLURM_STEP_NODELIST": "gpu[017-018]"}, "gpu017"),
        ({"SLURM_STEP_NUM_NODES": "3", "SLURM_STEP_NODELIST": "a[1,4-5]-ib,b2"}, "a1-ib"),
        ({"SLURM_STEP_NUM_NODES": "2", "SLURM_STEP_NODELIST": "left,right"}, "left"),
    ],
)
def test_the_first_rank_is_found(environment, expected):
    assert address(environment, world_size=4) == expected


def test_without_an_address_nothing_is_guessed():
    with pytest.raises(NoAddressError, match="MASTER_ADDR is not set"):
        address({"OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, world_size=4)


def test_no_line_is_longer_than_a_pipe_takes_at_once(monkeypatch):
    lines = []
    monkeypatch.setattr(os, "write", lambda _, data: lines.append(data))
    Teller(1_023).result({"pairs": [[one, other, one * other] for one, other in combinations(range(200), 2)]})
    Teller(1_023).failed(ValueError("no\nway" * 1_000))
    assert len(lines) > 2
    assert max(map(len, lines)) <= 4_096
    assert all(line.startswith(MARK.encode()) and line.endswith(b"}\n") and line.count(b"\n") == 1 for line in lines)
    assert json.loads(lines[-1].partition(b" ")[2])["error"].startswith("ValueError: no wayno way")
