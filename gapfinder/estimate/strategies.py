"""The ways to spread a training over cards, the simplest first."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING

from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gapfinder.estimate.network import Network


_ALL_SHARDED = 3


@dataclass(frozen=True, kw_only=True, slots=True)
class Strategy:
    """How often the model is cut and copied.

    Attributes:
        tensor: cards that share every layer.
        stages: pipeline stages, each with a part of the layers.
        data: copies (replicas) of the model; tensor * stages * data is the number of cards.
        zero: how much of a copy its replicas share out: 0 nothing, 1 optimizer states, 2 gradients too, 3 all.
    """

    tensor: int = 1
    stages: int = 1
    data: int
    zero: int = 0

    @property
    def name(self) -> str:
        """What people call it."""
        words = [
            f"{word} {degree}" for word, degree in (("tensor", self.tensor), ("pipeline", self.stages)) if degree > 1
        ]
        if words and self.data > 1:
            words.append(f"data {self.data}")
        if self.zero:
            words.append(f"ZeRO-{self.zero}" + (" (FSDP)" if self.zero == _ALL_SHARDED else ""))
        return ", ".join(words) or "data parallel"


# Data parallel first, then ZeRO-2, and only then the rest: what needs no change of the model before what does, one
# kind of cut before two.
_UNCUT = (0, 2, 1, 3)


def strategies(
    network: Network, *, tensor: int | None, stages: int | None, fits: Callable[[Strategy], bool]
) -> list[Strategy]:
    """Return one strategy of each kind, the simplest first.

    Kinds that cut the model take the smallest degrees that fit, or the largest where none does.

    Args:
        network: how many cards, and how many of them in a node; tensor parallelism stays inside one.
        tensor: the degree to use, in place of the smallest.
        stages: the same for the pipeline.
        fits: whether the states of a strategy fit one card.
    """
    ranks = network.ranks
    if ranks % ((tensor or 1) * (stages or 1)):
        raise InputError(f"{ranks} ranks cannot be cut into tensor {tensor or 1} and pipeline {stages or 1} evenly")
    if tensor is not None and network.cards_per_node % tensor:
        raise InputError(f"tensor {tensor} does not divide the {network.cards_per_node} cards of a node")
    tensors = {1, *([tensor] if tensor else _divisors(network.cards_per_node))}
    pipelines = {1, *([stages] if stages else _divisors(ranks))}
    cuts = sorted(product(tensors, pipelines), key=lambda cut: (prod(cut), cut[1]))
    possible = [cut for cut in cuts if ranks % prod(cut) == 0]
    kinds = (
        [(t, p) for t, p in possible if t > 1 and p == 1],
        [(t, p) for t, p in possible if t == 1 and p > 1],
        [(t, p) for t, p in possible if t > 1 and p > 1],
    )
    found = [Strategy(data=ranks, zero=zero) for zero in _UNCUT[: None if ranks > 1 else 1]]
    for kind, zero in product(kinds, (0, 1)):
        found.extend(_first_that_fits(kind, ranks=ranks, zero=zero, fits=fits))
    return found


def _first_that_fits(
    cuts: list[tuple[int, int]], *, ranks: int, zero: int, fits: Callable[[Strategy], bool]
) -> Iterator[Strategy]:
    made = [Strategy(tensor=t, stages=p, data=ranks // (t * p), zero=zero) for t, p in cuts]
    # With a single copy there is nobody to share its states with.
    useful = [strategy for strategy in made if not zero or strategy.data > 1]
    if useful:
        yield next(filter(fits, useful), useful[-1])


def _divisors(number: int) -> list[int]:
    return [divisor for divisor in range(2, number + 1) if number % divisor == 0]
