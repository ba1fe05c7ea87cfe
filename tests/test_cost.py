"""The cost model against hand calculations, and what must hold for every operation."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gapfinder.cost import Algorithm, Operation, bus_factor, find_operation, hops, ideal_ns
from gapfinder.errors import InputError
from gapfinder.estimate import Network, Schedule, estimate_collective

OPERATIONS = st.sampled_from(list(Operation))
RANKS = st.integers(1, 4_096)
SIZES = st.integers(0, 10**13)
BANDWIDTHS = st.integers(10**6, 10**12)
BY_SHARES = (Operation.ALL_REDUCE, Operation.ALL_GATHER, Operation.REDUCE_SCATTER, Operation.ALL_TO_ALL)


@pytest.mark.parametrize(
    ("operation", "at_2", "at_8"),
    [
        ("all-reduce", 1.0, 1.75),
        ("all-gather", 0.5, 0.875),
        ("reduce-scatter", 0.5, 0.875),
        ("broadcast", 1.0, 1.0),
        ("reduce", 1.0, 1.0),
        ("all-to-all", 0.5, 0.875),
        ("send-recv", 1.0, 1.0),
    ],
)
def test_the_factors_are_those_of_nccl_tests(operation, at_2, at_8):
    assert (bus_factor(operation, 1), bus_factor(operation, 2), bus_factor(operation, 8)) == (0, at_2, at_8)


@pytest.mark.parametrize(
    ("name", "operation"),
    [
        ("AllReduce", Operation.ALL_REDUCE),
        ("AllGather", Operation.ALL_GATHER),
        ("ReduceScatter", Operation.REDUCE_SCATTER),
        ("Broadcast", Operation.BROADCAST),
        ("Reduce", Operation.REDUCE),
        ("AlltoAll", Operation.ALL_TO_ALL),
        ("SendRecv", Operation.SEND_RECV),
        ("Send", Operation.SEND_RECV),
        ("reduce_scatter", Operation.REDUCE_SCATTER),
    ],
)
def test_names_in_kernels_are_understood(name, operation):
    assert find_operation(name) is operation


@pytest.mark.parametrize("name", ["", "gather-all", "unknown", "AllReduceSum"])
def test_another_name_is_refused_with_those_that_are_known(name):
    with pytest.raises(InputError, match="known are all-reduce, all-gather"):
        bus_factor(name, 2)


@pytest.mark.parametrize(("bandwidth", "time_ns"), [(5e9, 4_900_000_000), (12.5e9, 1_960_000_000)])
def test_the_bill_of_the_gradients_of_7b(bandwidth, time_ns):
    assert ideal_ns("AllReduce", size_bytes=14 * 10**9, ranks=8, bandwidth=bandwidth) == time_ns
    assert ideal_ns("AllReduce", size_bytes=14 * 10**9, ranks=8, bandwidth=bandwidth, latency_ns=7) == time_ns + 7


def test_a_time_is_exact_where_a_float_is_not():
    # 2^53 + 1 bytes at 1 GB/s
    assert ideal_ns("broadcast", size_bytes=9_007_199_254_740_993, ranks=2, bandwidth=1e9) == 9_007_199_254_740_993


@pytest.mark.parametrize("bandwidth", [0, -1, float("nan"), float("inf")])
def test_a_link_that_cannot_be_is_refused(bandwidth):
    with pytest.raises(InputError, match="not a bandwidth"):
        ideal_ns("reduce", size_bytes=1, ranks=2, bandwidth=bandwidth)


def test_no_ranks_are_refused():
    with pytest.raises(InputError, match="not a number of ranks: 0"):
        bus_factor("reduce", 0)


@pytest.mark.parametrize(
    ("operation", "ranks", "ring", "tree"),
    [
        ("all-reduce", 8, 14, 6),
        ("all-reduce", 9, 16, 8),
        ("all-gather", 8, 7, 3),
        ("broadcast", 5, 4, 3),
        ("all-to-all", 8, 7, 7),
        ("send-recv", 8, 1, 1),
        *((operation, 1, 0, 0) for operation in Operation),
    ],
)
def test_hops(operation, ranks, ring, tree):
    assert hops(operation, ranks=ranks, algorithm=Algorithm.RING) == ring
    assert hops(operation, ranks=ranks, algorithm=Algorithm.TREE) == tree


@given(OPERATIONS, SIZES, RANKS, BANDWIDTHS)
def test_more_bytes_and_ranks_take_longer_and_more_bandwidth_shorter(operation, size, ranks, bandwidth):
    def time(**changed: int) -> int:
        return ideal_ns(operation, **({"size_bytes": size, "ranks": ranks, "bandwidth": bandwidth} | changed))

    assert time(size_bytes=size + 1_000) >= time()
    assert time(ranks=ranks + 1) >= time()
    assert time(bandwidth=2 * bandwidth) <= time()
    assert time() <= 2 * size * 10**9 / bandwidth + 1


@given(st.sampled_from(BY_SHARES), SIZES, st.integers(2, 8), st.integers(2, 64), BANDWIDTHS)
def test_over_equal_links_a_hierarchy_costs_what_the_plain_operation_costs(operation, size, local, nodes, bandwidth):
    network = Network(ranks=local * nodes, nodes=nodes, bandwidth=bandwidth, intra_bandwidth=bandwidth)
    bill = estimate_collective(operation, size_bytes=size, network=network, schedule=Schedule())
    plain = ideal_ns(operation, size_bytes=size, ranks=local * nodes, bandwidth=bandwidth)
    # A stage rounds its size up to a byte and its time to a ns.
    assert abs(bill.time_ns - plain) <= 3 + 2 * 10**9 / bandwidth


@given(OPERATIONS, SIZES, st.tuples(st.integers(1, 8), st.integers(2, 8)), BANDWIDTHS, BANDWIDTHS)
def test_a_better_link_never_takes_longer(operation, size, cards, inside, between):
    local, nodes = cards

    def time(*, inside: int, between: int) -> int:
        network = Network(ranks=local * nodes, nodes=nodes, bandwidth=between, intra_bandwidth=inside)
        return estimate_collective(operation, size_bytes=size, network=network, schedule=Schedule()).time_ns

    assert time(inside=2 * inside, between=between) <= time(inside=inside, between=between)
    assert time(inside=inside, between=2 * between) <= time(inside=inside, between=between)


@given(SIZES, st.integers(2, 64), BANDWIDTHS, st.integers(1, 10**11), st.integers(1, 16))
def test_hidden_and_exposed_add_up(size, ranks, bandwidth, compute, accumulation):
    bill = estimate_collective(
        Operation.ALL_REDUCE,
        size_bytes=size,
        network=Network(ranks=ranks, bandwidth=bandwidth),
        schedule=Schedule(accumulation=accumulation, compute_ns=compute),
    )
    for scaling in bill.scaling:
        assert scaling.hidden_at_best_ns <= min(bill.time_ns, scaling.compute_ns)
        assert abs(scaling.hidden_step_ns + scaling.hidden_at_best_ns - scaling.exposed_step_ns) <= 1
        assert scaling.exposed_speedup <= scaling.hidden_speedup <= ranks * (1 + 1e-9)
