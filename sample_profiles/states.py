"""The states: what each sample profile shows, as data."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from sample_profiles.host import Host
from sample_profiles.network import Network
from sample_profiles.pipeline import STAGES, pipelined
from sample_profiles.simulator import run
from sample_profiles.trace import Cause, Process
from sample_profiles.training import (
    DataParallel,
    Loader,
    Reduce,
    collect_garbage,
    flush_profiler,
    graphed,
    sharded,
    write_checkpoint,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sample_profiles.host import Waits
    from sample_profiles.simulator import Program

CAPTURE_CLOCK_NS = 12_345_678_901
FIRST_PID = 41_871
PID_STRIDE = 97


@dataclass(frozen=True, kw_only=True, slots=True)
class Plant:
    """Something that happens once, on one rank, at the start of one step."""

    step: int
    rank: int
    event: Callable[[Host], Waits]


@dataclass(frozen=True, kw_only=True, slots=True)
class State:
    """One kind of training.

    Attributes:
        step: launches one step of one rank.
        slowdown: compute time of a rank in thousandths of the usual; ranks not named take 1000.
        ranks_multiple: the number of ranks must be a multiple of this.
    """

    step: Callable[[Host, int], Waits]
    loader: Loader = field(default_factory=Loader)
    slowdown: Mapping[int, int] = field(default_factory=dict)
    plants: tuple[Plant, ...] = ()
    ranks_multiple: int = 1


STATES: Mapping[str, State] = {
    "healthy": State(step=DataParallel(lazy_ns=2_300_000)),
    "broken_overlap": State(step=DataParallel(reduce=Reduce.AFTERWARDS)),
    "data_starved": State(
        step=DataParallel(),
        loader=Loader(batch_ns=58_000_000, ahead=1),
        plants=(Plant(step=4, rank=0, event=write_checkpoint),),
    ),
    "slow_rank": State(step=DataParallel(), slowdown={3: 1300}),
    "fsdp": State(step=sharded),
    "pipeline": State(step=pipelined, ranks_multiple=STAGES),
    "cuda_graphs": State(step=graphed),
    "one_stream": State(
        step=DataParallel(reduce=Reduce.SAME_STREAM, reads_loss=True, metrics_ns=640_000),
        plants=(Plant(step=2, rank=1, event=flush_profiler), Plant(step=4, rank=5, event=collect_garbage)),
    ),
}


def simulate(name: str, *, seed: int, steps: int, ranks: int, layers: int | None = None) -> list[Process]:
    """Return what every rank of state `name` did in `steps` steps; `layers` makes a data-parallel model deeper."""
    state = STATES[name]
    if layers is not None:
        if not isinstance(state.step, DataParallel):
            raise ValueError(f"{name} has a fixed number of layers")
        state = replace(state, step=replace(state.step, layers=layers))
    if steps < 1 or ranks < 1 or ranks % state.ranks_multiple:
        raise ValueError(f"{name} needs at least one step and ranks in multiples of {state.ranks_multiple}")
    network = Network(seed=seed)
    hosts = []
    for rank in range(ranks):
        # Processes of one launcher start within a few hundred µs of each other.
        process = Process(
            rank=rank, ranks=ranks, pid=FIRST_PID + PID_STRIDE * rank, began=CAPTURE_CLOCK_NS + 61_000 * (rank % 5)
        )
        hosts.append(Host(process, network=network, seed=seed, slowdown=state.slowdown.get(rank, 1000)))
    run(hosts, training_program(state, steps=steps))
    return [host.process for host in hosts]


def training_program(state: State, *, steps: int) -> Program:
    """Return what a rank does that trains `steps` steps of `state`."""

    def program(host: Host) -> Waits:
        host.work(180_000, cause=Cause.HOST_CODE)
        for number in range(steps):
            with host.range(f"step {number}"):
                for plant in state.plants:
                    if (plant.step, plant.rank) == (number, host.rank):
                        yield from plant.event(host)
                state.loader.next_batch(host, step=number)
                yield from state.step(host, number)

    return program
