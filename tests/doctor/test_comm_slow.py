"""A slow card or a slow link, told apart in made-up tables of who reaches whom how fast."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapfinder.doctor.comm.slow import find_slow


def table(nodes: int, slow: dict[tuple[int, int], float] | None = None) -> dict[tuple[int, int], float]:
    return {pair: (slow or {}).get(pair, 100.0) for pair in combinations(range(nodes), 2)}


def all_pairs_of(*slow: int, nodes: int, speed: float) -> dict[tuple[int, int], float]:
    return {pair: speed if set(pair) & set(slow) else 100.0 for pair in combinations(range(nodes), 2)}


@given(st.integers(2, 9).flatmap(lambda n: st.lists(st.floats(67, 100), min_size=n * (n - 1) // 2, max_size=36)))
def test_what_differs_by_less_than_the_ratio_is_never_slow(speeds):
    nodes = next(n for n in range(2, 10) if n * (n - 1) // 2 >= len(speeds))
    found = find_slow(dict(zip(combinations(range(nodes), 2), speeds, strict=False)), ratio=1.5)
    assert (found.nodes, found.links, found.many) == ({}, {}, 0)


@pytest.mark.parametrize("nodes", [3, 4, 8, 16])
def test_a_node_that_is_slow_with_all_others_is_named_and_none_of_its_links(nodes):
    for slow in range(nodes):
        found = find_slow(all_pairs_of(slow, nodes=nodes, speed=50.0), ratio=1.5)
        assert (found.nodes, found.links) == ({slow: (50.0, 100.0)}, {})


@pytest.mark.parametrize("nodes", [5, 6, 8])
def test_two_slow_nodes_are_both_named(nodes):
    for slow in combinations(range(nodes), 2):
        found = find_slow(all_pairs_of(*slow, nodes=nodes, speed=20.0), ratio=1.5)
        assert (set(found.nodes), found.links) == (set(slow), {})


@pytest.mark.parametrize("nodes", [3, 4, 8, 16])
def test_one_slow_link_is_named_and_neither_of_its_ends(nodes):
    for slow in combinations(range(nodes), 2):
        found = find_slow(table(nodes, {slow: 40.0}), ratio=1.5)
        assert (found.nodes, found.links) == ({}, {slow: (40.0, 100.0)})


def test_a_slow_node_and_a_slow_link_elsewhere_are_told_apart():
    speeds = all_pairs_of(0, nodes=5, speed=10.0) | {(2, 4): 30.0}
    found = find_slow(speeds, ratio=1.5)
    assert (found.nodes, found.links) == ({0: (10.0, 100.0)}, {(2, 4): (30.0, 100.0)})


def test_fast_pairs_make_the_others_neither_slow_nodes_nor_slow_links():
    bridged = {(0, 1): 900.0, (2, 3): 900.0}
    found = find_slow(table(5, bridged), ratio=1.5)  # node 4 has no bridge
    assert (found.nodes, found.links, found.many) == ({}, {}, 0)


def test_one_pair_of_four_that_had_a_good_moment_makes_nobody_slow():
    seen = {(0, 1): 349.0, (0, 2): 636.0, (0, 3): 512.0, (1, 2): 427.0, (1, 3): 506.0, (2, 3): 1556.0}  # equal ranks
    found = find_slow(seen, ratio=3.0)
    assert (found.nodes, found.links, found.many) == ({}, {}, 0)


def test_many_slow_links_are_how_the_machine_is_built():
    halves = {(one, other): 30.0 for one in range(4) for other in range(4, 8) if (one, other) not in ((0, 4), (1, 5))}
    halves = {pair: speed for pair, speed in halves.items() if sum(pair) % 2}
    found = find_slow(table(8, halves), ratio=1.5)
    assert len(halves) == 8
    assert (found.nodes, found.links, found.many) == ({}, {}, 8)


def test_one_pair_or_two_tell_nothing():
    for speeds in ({(0, 1): 1.0}, {(0, 1): 1.0, (0, 2): 100.0}):
        found = find_slow(speeds, ratio=1.5)
        assert (found.nodes, found.links, found.knows_links) == ({}, {}, False)
    assert not find_slow({(0, 1): 1.0}, ratio=1.5).knows_nodes


def test_a_table_with_holes_is_judged_by_what_is_there():
    speeds = all_pairs_of(3, nodes=6, speed=10.0)
    del speeds[0, 3], speeds[1, 2], speeds[4, 5]
    assert set(find_slow(speeds, ratio=1.5).nodes) == {3}
