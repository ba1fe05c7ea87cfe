"""The bill of one operation, and what it leaves of a step."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil, inf
from typing import TYPE_CHECKING

from gapfinder.errors import InputError
from gapfinder.estimate.network import Group, stages

if TYPE_CHECKING:
    from gapfinder.cost import Operation
    from gapfinder.estimate.network import Network, Stage


class Batch(StrEnum):
    """What stays the same when cards are added."""

    PER_CARD = "batch per card"
    IN_ALL = "batch in all"


@dataclass(frozen=True, kw_only=True, slots=True)
class Schedule:
    """When cards synchronise.

    Attributes:
        accumulation: micro-steps from one synchronisation to the next; it changes how often, not how much is sent.
        compute_ns: of one micro-step on a card; None when not known.
    """

    accumulation: int = 1
    compute_ns: int | None = None

    def __post_init__(self) -> None:
        if self.accumulation < 1:
            raise InputError(f"not a number of micro-steps: {self.accumulation}; write 1 or more")


@dataclass(frozen=True, kw_only=True, slots=True)
class Scaling:
    """A step (from one synchronisation to the next) on all cards, against one card that computes the same samples.

    Attributes:
        keeps: with the batch per card kept, each card computes as long as one card alone, on n times the samples in
            all; with the batch in all kept, each computes 1/n of it.
        compute_ns: of each card.
        hidden_at_best_ns: of the operation, behind the compute of the last micro-step: earlier ones do not communicate.
        exposed_step_ns, hidden_step_ns: the step when nothing and when as much as possible is hidden.
        exposed_speedup, hidden_speedup: samples per second against one card; below 1 the cards are slower than one.
    """

    keeps: Batch
    compute_ns: int
    hidden_at_best_ns: int
    exposed_step_ns: int
    hidden_step_ns: int
    exposed_speedup: float
    hidden_speedup: float


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectiveEstimate:
    """What one operation must cost.

    Attributes:
        sent_bytes: what each card's links carry in one direction, over all stages.
        time_ns: of one operation.
        accumulation: micro-steps between two operations.
        per_micro_step_ns: `time_ns` spread over them.
        compute_ns: of one micro-step, as given.
        scaling: empty without compute time.
    """

    operation: Operation
    ranks: int
    nodes: int
    size_bytes: int
    sent_bytes: int
    time_ns: int
    accumulation: int
    per_micro_step_ns: int
    compute_ns: int | None
    stages: tuple[Stage, ...]
    scaling: tuple[Scaling, ...]


def compressed(size_bytes: int, *, factor: float) -> int:
    """Return what is sent of `size_bytes` with `factor` times fewer bytes: 2 for INT8 in place of BF16."""
    if not 1 <= factor < inf:
        raise InputError(f"compression by {factor:g} sends no less; write 1 or more, such as 2")
    return ceil(size_bytes / Fraction(factor))


def estimate_collective(
    operation: Operation, *, size_bytes: int, network: Network, schedule: Schedule
) -> CollectiveEstimate:
    """Return the bill of one operation over all ranks of a network.

    Args:
        operation: what is done.
        size_bytes: as nccl-tests counts it.
        network: ranks and links.
        schedule: how often, and beside how much compute.
    """
    group = Group(local=network.cards_per_node, nodes=network.nodes)
    parts = stages(operation, size_bytes=size_bytes, group=group, network=network)
    time = sum(part.time_ns for part in parts)
    return CollectiveEstimate(
        operation=operation,
        ranks=network.ranks,
        nodes=network.nodes,
        size_bytes=size_bytes,
        sent_bytes=sum(part.sent_bytes for part in parts),
        time_ns=time,
        accumulation=schedule.accumulation,
        per_micro_step_ns=round(Fraction(time, schedule.accumulation)),
        compute_ns=schedule.compute_ns,
        stages=parts,
        scaling=_scalings(time, ranks=network.ranks, schedule=schedule),
    )


def _scalings(time: int, *, ranks: int, schedule: Schedule) -> tuple[Scaling, ...]:
    compute, times = schedule.compute_ns, schedule.accumulation
    if not compute:
        return ()
    return (
        _scaling(Batch.PER_CARD, time=time, micro_step=Fraction(compute), times=times, alone=ranks * times * compute),
        _scaling(Batch.IN_ALL, time=time, micro_step=Fraction(compute, ranks), times=times, alone=times * compute),
    )


def _scaling(keeps: Batch, *, time: int, micro_step: Fraction, times: int, alone: int) -> Scaling:
    computing = micro_step * times
    hidden = min(Fraction(time), micro_step)
    exposed_step = computing + time
    return Scaling(
        keeps=keeps,
        compute_ns=round(computing),
        hidden_at_best_ns=round(hidden),
        exposed_step_ns=round(exposed_step),
        hidden_step_ns=round(exposed_step - hidden),
        exposed_speedup=float(alone / exposed_step),
        hidden_speedup=float(alone / (exposed_step - hidden)),
    )
