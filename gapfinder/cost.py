"""The bill of one collective: how long an operation must take on links of a given bandwidth.

T = factor * bytes / bandwidth + latency, with factors, sizes and bandwidths as nccl-tests defines them
(https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md): the bandwidth is what each rank has towards all
others, in one direction; the size is the whole array, so for all-gather and reduce-scatter the sum over the ranks.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from math import inf

from gapfinder.errors import InputError
from gapfinder.units import NS_PER_S


class Operation(StrEnum):
    """What a collective does, by the name the command line uses."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    BROADCAST = "broadcast"
    REDUCE = "reduce"
    ALL_TO_ALL = "all-to-all"
    SEND_RECV = "send-recv"


class Algorithm(StrEnum):
    """How the ranks pass data on; it decides the number of hops, and not the bytes."""

    RING = "ring"
    TREE = "tree"


_OPERATIONS = {operation.replace("-", ""): operation for operation in Operation} | {
    "send": Operation.SEND_RECV,
    "recv": Operation.SEND_RECV,
}
_ROUND_TRIPS = {Operation.ALL_REDUCE: 2}
_WHOLE_ARRAY = frozenset({Operation.BROADCAST, Operation.REDUCE, Operation.SEND_RECV})


def find_operation(name: str) -> Operation:
    """Return the operation that `name` means, written as here ("all-reduce") or as in kernel names ("AllReduce")."""
    operation = _OPERATIONS.get("".join(filter(str.isalpha, name)).lower())
    if operation is None:
        raise InputError(f"unknown operation: {name!r}; known are {', '.join(Operation)}")
    return operation


def exact_factor(operation: str, ranks: int) -> Fraction:
    """Return how many times its size an operation moves through each rank's link; 0 where there is only one rank."""
    kind = find_operation(operation)
    if ranks < 1:
        raise InputError(f"not a number of ranks: {ranks}; write 1 or more")
    if kind in _WHOLE_ARRAY:
        return Fraction(int(ranks > 1))
    return Fraction(_ROUND_TRIPS.get(kind, 1) * (ranks - 1), ranks)


def bus_factor(operation: str, ranks: int) -> float:
    """Return what turns algorithm bandwidth (size / time) into bus bandwidth; see `exact_factor`."""
    return float(exact_factor(operation, ranks))


def ideal_ns(operation: str, *, size_bytes: int, ranks: int, bandwidth: float, latency_ns: int = 0) -> int:
    """Return the shortest time of an operation, in whole ns.

    Args:
        operation: such as "all-reduce" or "AllReduce".
        size_bytes: the whole array, as nccl-tests counts it.
        ranks: how many take part.
        bandwidth: of each rank's link in one direction, bytes per second.
        latency_ns: what comes on top, over all hops (see `hops`).
    """
    if not 0 < bandwidth < inf:
        raise InputError(f"not a bandwidth: {bandwidth}; it must be above 0")
    return round(exact_factor(operation, ranks) * size_bytes * NS_PER_S / Fraction(bandwidth)) + latency_ns


def hops(operation: str, *, ranks: int, algorithm: Algorithm) -> int:
    """Return how many hops come one after the other, each of which costs the latency of a link.

    A ring passes through all other ranks, a tree through its levels; an all-reduce goes there and back. In an
    all-to-all every rank has a message for every other, and send and receive is a single hop, whatever the algorithm.
    """
    kind = find_operation(operation)
    if kind is Operation.SEND_RECV:
        return int(ranks > 1)
    levels = (ranks - 1).bit_length()
    one_way = levels if algorithm is Algorithm.TREE and kind is not Operation.ALL_TO_ALL else ranks - 1
    return _ROUND_TRIPS.get(kind, 1) * one_way
