"""Links between cards, in nodes or not, and the stages that an operation takes over them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from gapfinder.cost import Algorithm, Operation, exact_factor, hops, ideal_ns
from gapfinder.errors import InputError


class Scope(StrEnum):
    """Which links a stage uses."""

    ALL = "all cards"
    INSIDE = "inside each node"
    BETWEEN = "between nodes"


@dataclass(frozen=True, kw_only=True, slots=True)
class Network:
    """The cards of a job and what each has towards the others.

    Attributes:
        ranks: cards in all.
        bandwidth: of each card in one direction, bytes per second; with several nodes, to the other nodes.
        nodes: machines with `ranks` / `nodes` cards each.
        intra_bandwidth: of each card to the others of its node; None with one node.
        latency_ns: of one hop.
        algorithm: decides the number of hops.
    """

    ranks: int
    bandwidth: int
    nodes: int = 1
    intra_bandwidth: int | None = None
    latency_ns: int = 0
    algorithm: Algorithm = Algorithm.RING

    def __post_init__(self) -> None:
        if self.ranks < 1 or self.nodes < 1 or self.ranks % self.nodes:
            raise InputError(f"{self.ranks} ranks do not fill {self.nodes} nodes evenly; change --ranks or --nodes")
        if (self.nodes > 1) != (self.intra_bandwidth is not None):
            raise InputError("--nodes 2 or more and --intra-bandwidth go together: give both or neither")

    @property
    def cards_per_node(self) -> int:
        """How many cards a node has."""
        return self.ranks // self.nodes

    def link(self, scope: Scope) -> int:
        """Return the bandwidth that a stage has; over all links at once, the slowest decides."""
        inside = self.bandwidth if self.intra_bandwidth is None else self.intra_bandwidth
        return {Scope.INSIDE: inside, Scope.BETWEEN: self.bandwidth}.get(scope, min(inside, self.bandwidth))


@dataclass(frozen=True, kw_only=True, slots=True)
class Group:
    """The ranks of one operation: `local` on each of `nodes` nodes."""

    local: int
    nodes: int = 1

    @property
    def ranks(self) -> int:
        """How many take part."""
        return self.local * self.nodes


@dataclass(frozen=True, kw_only=True, slots=True)
class Stage:
    """One part of an operation; the parts run one after the other.

    Attributes:
        size_bytes: as nccl-tests counts it.
        sent_bytes: what each card's link carries in the direction that carries more.
        time_ns: with the latency in it.
    """

    operation: Operation
    scope: Scope
    ranks: int
    size_bytes: int
    bandwidth: int
    sent_bytes: int
    latency_ns: int
    time_ns: int


def stages(operation: Operation, *, size_bytes: int, group: Group, network: Network) -> tuple[Stage, ...]:
    """Return the stages of an operation, the fastest way known to use both kinds of links.

    Where all links have one bandwidth, the stages take as long together as the plain operation over all ranks.
    """
    if group.nodes == 1 or group.local == 1:
        scope = Scope.ALL if network.nodes == 1 else Scope.INSIDE if group.nodes == 1 else Scope.BETWEEN
        parts = [(operation, scope, size_bytes)]
    else:
        parts = _hierarchical(operation, size=size_bytes, group=group)
    return tuple(_stage(part, scope=scope, size=size, group=group, network=network) for part, scope, size in parts)


def _hierarchical(operation: Operation, *, size: int, group: Group) -> list[tuple[Operation, Scope, int]]:
    inside, between = Scope.INSIDE, Scope.BETWEEN
    scatter, gather, shard = Operation.REDUCE_SCATTER, Operation.ALL_GATHER, -(-size // group.local)
    ways = {
        Operation.ALL_REDUCE: [(scatter, inside, size), (operation, between, shard), (gather, inside, size)],
        scatter: [(scatter, inside, size), (scatter, between, shard)],
        gather: [(gather, between, shard), (gather, inside, size)],
        Operation.ALL_TO_ALL: [(operation, inside, -(-size // group.nodes)), (operation, between, size)],
    }
    # The rest pass the data on in pieces, through all links at once.
    return ways.get(operation, [(operation, Scope.ALL, size)])


def _stage(operation: Operation, *, scope: Scope, size: int, group: Group, network: Network) -> Stage:
    ranks = {Scope.INSIDE: group.local, Scope.BETWEEN: group.nodes}.get(scope, group.ranks)
    bandwidth = network.link(scope)
    latency = network.latency_ns * hops(operation, ranks=ranks, algorithm=network.algorithm)
    return Stage(
        operation=operation,
        scope=scope,
        ranks=ranks,
        size_bytes=size,
        bandwidth=bandwidth,
        sent_bytes=round(exact_factor(operation, ranks) * size),
        latency_ns=latency,
        time_ns=ideal_ns(operation, size_bytes=size, ranks=ranks, bandwidth=bandwidth, latency_ns=latency),
    )
