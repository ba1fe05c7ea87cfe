"""What a strategy communicates in each step, and what can hide it."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import gcd
from typing import TYPE_CHECKING

from gapfinder.cost import Operation
from gapfinder.estimate.network import Group, stages

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from gapfinder.estimate.memory import Model
    from gapfinder.estimate.network import Network
    from gapfinder.estimate.strategies import Strategy


class Behind(StrEnum):
    """What a transfer can be hidden behind, at best."""

    FORWARD = "forward"
    BACKWARD = "backward"
    NOTHING = "nothing"


# Backward computes two gradients for every product of forward: https://arxiv.org/abs/2001.08361.
_SHARE_OF_COMPUTE = {Behind.FORWARD: Fraction(1, 3), Behind.BACKWARD: Fraction(2, 3), Behind.NOTHING: Fraction(0)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Transfer:
    """What one kind of communication costs a card in each step.

    Attributes:
        times: operations per step, each of `size_bytes`.
        sent_bytes, time_ns: over all of them.
        behind: what can hide it at best.
    """

    what: str
    operation: Operation
    times: int
    size_bytes: int
    sent_bytes: int
    time_ns: int
    behind: Behind


@dataclass(frozen=True, slots=True)
class _Purpose:
    what: str
    operation: Operation
    behind: Behind


_GRADIENTS = _Purpose("gradients", Operation.ALL_REDUCE, Behind.BACKWARD)
_GRADIENT_SHARDS = _Purpose("gradients", Operation.REDUCE_SCATTER, Behind.BACKWARD)
_FOR_FORWARD = _Purpose("parameters", Operation.ALL_GATHER, Behind.FORWARD)
_FOR_BACKWARD = _Purpose("parameters", Operation.ALL_GATHER, Behind.BACKWARD)
# As much as in data parallel up to ZeRO-2, half as much again in ZeRO-3: https://arxiv.org/abs/1910.02054.
_REPLICAS_BY_ZERO = (
    (_GRADIENTS,),
    (_GRADIENT_SHARDS, _FOR_FORWARD),
    (_GRADIENT_SHARDS, _FOR_FORWARD),
    (_FOR_FORWARD, _FOR_BACKWARD, _GRADIENT_SHARDS),
)
_LAYERS = _Purpose("layers", Operation.ALL_REDUCE, Behind.NOTHING)
_STAGES = (
    _Purpose("activations", Operation.SEND_RECV, Behind.FORWARD),
    _Purpose("their gradients", Operation.SEND_RECV, Behind.BACKWARD),
)


def transfers_of(strategy: Strategy, *, model: Model, network: Network) -> Iterator[Transfer]:
    """Yield what a card communicates in a step; without the model's shape, only what its replicas exchange.

    Cards that are close share a layer, then come the replicas, then the stages, as Megatron-LM places them.
    """
    tensor, cut = strategy.tensor, strategy.tensor * strategy.stages
    if strategy.data > 1:
        size = -(-model.parameters * model.dtype.bytes_per_parameter // cut)
        group = _group(strategy.data, distance=tensor, network=network)
        for purpose in _REPLICAS_BY_ZERO[strategy.zero]:
            yield _transfer(purpose, size=size, group=group, network=network)
    if model.activation_bytes is None or model.layers is None:
        return
    # A copy of the model gets the part of the batch of all its cards.
    size = model.activation_bytes * cut
    if tensor > 1:
        # Two all-reduces for each layer in forward and two in backward: https://arxiv.org/abs/1909.08053.
        times = 4 * -(-model.layers // strategy.stages)
        group = _group(tensor, distance=1, network=network)
        yield _transfer(_LAYERS, size=size, group=group, network=network, times=times)
    if strategy.stages > 1:
        for purpose in _STAGES:
            yield _transfer(purpose, size=size, group=_neighbours(network), network=network)


def hidden_at_best(transfers: Iterable[Transfer], *, compute_ns: int) -> int:
    """Return how much of the transfers' time fits behind that part of the compute that can hide each."""
    needed = dict.fromkeys(Behind, 0)
    for transfer in transfers:
        needed[transfer.behind] += transfer.time_ns
    return sum(min(time, int(compute_ns * _SHARE_OF_COMPUTE[behind])) for behind, time in needed.items())


def _group(ranks: int, *, distance: int, network: Network) -> Group:
    """Return how `ranks` cards, each `distance` from the next, lie in nodes."""
    local = gcd(ranks, max(1, network.cards_per_node // distance))
    return Group(local=local, nodes=ranks // local)


def _neighbours(network: Network) -> Group:
    """Return two stages next to each other: in one node with a single node, else the slowest pair, across nodes."""
    return Group(local=2) if network.nodes == 1 else Group(local=1, nodes=2)


def _transfer(purpose: _Purpose, *, size: int, group: Group, network: Network, times: int = 1) -> Transfer:
    parts = stages(purpose.operation, size_bytes=size, group=group, network=network)
    return Transfer(
        what=purpose.what,
        operation=purpose.operation,
        times=times,
        size_bytes=size,
        sent_bytes=times * sum(part.sent_bytes for part in parts),
        time_ns=times * sum(part.time_ns for part in parts),
        behind=purpose.behind,
    )
