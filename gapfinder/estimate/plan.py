"""What each strategy takes of a card's memory and of a step's time, and the simplest that fits."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from gapfinder.errors import InputError
from gapfinder.estimate.memory import states
from gapfinder.estimate.strategies import strategies
from gapfinder.estimate.transfers import hidden_at_best, transfers_of

if TYPE_CHECKING:
    from gapfinder.estimate.memory import Model, States
    from gapfinder.estimate.network import Network
    from gapfinder.estimate.strategies import Strategy
    from gapfinder.estimate.transfers import Transfer

NO_SHAPE = "the size of activations is not known: give --layers, --hidden, --sequence and --batch"


@dataclass(frozen=True, kw_only=True, slots=True)
class PlanRequest:
    """What to plan for.

    Attributes:
        memory_bytes: of each card.
        micro_batches: pieces that a pipeline cuts its batch into.
        tensor, stages: degrees to use; None for the smallest that fit.
        compute_ns: of a card in one step; the batch per card is the same for all strategies.
    """

    model: Model
    network: Network
    memory_bytes: int
    micro_batches: int = 8
    tensor: int | None = None
    stages: int | None = None
    compute_ns: int | None = None

    def __post_init__(self) -> None:
        if self.micro_batches < 1:
            raise InputError(f"not a number of micro-batches: {self.micro_batches}; write 1 or more")


@dataclass(frozen=True, kw_only=True, slots=True)
class Choice:
    """One strategy with its bill.

    Attributes:
        left_bytes: memory left for activations, buffers and fragmentation; negative where the states do not fit.
        transfers: what is known of its communication.
        not_estimated: why `sent_bytes` and `communication_ns` are None.
        bubble: share of the step in which a pipeline stage has nothing to do.
        hidden_at_best_ns, exposed_step_ns, hidden_step_ns: None without compute time, or where transfers are not known.
    """

    name: str
    strategy: Strategy
    states: States
    total_bytes: int
    left_bytes: int
    fits: bool
    transfers: tuple[Transfer, ...]
    not_estimated: str | None
    sent_bytes: int | None
    communication_ns: int | None
    bubble: float
    hidden_at_best_ns: int | None
    exposed_step_ns: int | None
    hidden_step_ns: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """All strategies: those that fit first, each part with the simplest first.

    Attributes:
        simplest: name of the first; None where none fits.
    """

    request: PlanRequest
    simplest: str | None
    choices: tuple[Choice, ...]


def make_plan(request: PlanRequest) -> Plan:
    """Return the strategies for a training, with what they cost."""

    def fits(strategy: Strategy) -> bool:
        return states(request.model, strategy=strategy).total_bytes <= request.memory_bytes

    found = strategies(request.network, tensor=request.tensor, stages=request.stages, fits=fits)
    choices = sorted((_choice(strategy, request) for strategy in found), key=lambda choice: not choice.fits)
    return Plan(request=request, simplest=choices[0].name if choices[0].fits else None, choices=tuple(choices))


def _choice(strategy: Strategy, request: PlanRequest) -> Choice:
    held = states(request.model, strategy=strategy)
    is_known = (strategy.tensor == strategy.stages == 1) or request.model.activation_bytes is not None
    transfers = tuple(transfers_of(strategy, model=request.model, network=request.network))
    time = sum(transfer.time_ns for transfer in transfers)
    bubble = _bubble(strategy, request)
    hidden = exposed_step = None
    if is_known and request.compute_ns is not None:
        hidden = hidden_at_best(transfers, compute_ns=request.compute_ns)
        exposed_step = round(request.compute_ns / (1 - bubble)) + time
    return Choice(
        name=strategy.name,
        strategy=strategy,
        states=held,
        total_bytes=held.total_bytes,
        left_bytes=request.memory_bytes - held.total_bytes,
        fits=held.total_bytes <= request.memory_bytes,
        transfers=transfers,
        not_estimated=None if is_known else NO_SHAPE,
        sent_bytes=sum(transfer.sent_bytes for transfer in transfers) if is_known else None,
        communication_ns=time if is_known else None,
        bubble=float(bubble),
        hidden_at_best_ns=hidden,
        exposed_step_ns=exposed_step,
        hidden_step_ns=None if exposed_step is None or hidden is None else exposed_step - hidden,
    )


def _bubble(strategy: Strategy, request: PlanRequest) -> Fraction:
    """Return (p-1)/(m+p-1) (GPipe, 2.3), with no micro-batch smaller than one sequence."""
    batch = request.model.batch
    pieces = request.micro_batches
    if batch is not None:
        pieces = min(pieces, batch * strategy.tensor * strategy.stages)
    return Fraction(strategy.stages - 1, pieces + strategy.stages - 1)
