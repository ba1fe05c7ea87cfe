"""A step of pipeline parallelism (1F1B): stages pass activations on and gradients back, replicas reduce at the end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from sample_profiles import kernels as k
from sample_profiles.host import MAIN_STREAM, NCCL_STREAM
from sample_profiles.network import Communicator
from sample_profiles.trace import Cause
from sample_profiles.training import collective, launch_all, optimise

if TYPE_CHECKING:
    from sample_profiles.host import Host, Waits

STAGES = 4
MICROBATCHES = 4
_PASS = k.collective("SendRecv", usual_ns=190_000)
_REPLICAS = k.collective("AllReduce_Sum_bf16_RING_LL", usual_ns=2_600_000)
Phase = Literal["forward", "backward"]


def one_forward_one_backward(stage: int) -> list[Phase]:
    """Return what `stage` runs, in order: fill the pipeline, alternate, drain it."""
    fill = min(STAGES - 1 - stage, MICROBATCHES)
    forward: list[Phase] = ["forward"]
    backward: list[Phase] = ["backward"]
    return forward * fill + (forward + backward) * (MICROBATCHES - fill) + backward * fill


def pipelined(host: Host, step: int) -> Waits:
    """Run one step of this rank's stage."""
    del step
    stage = host.rank % STAGES
    if stage in (0, STAGES - 1):
        yield from launch_all(host, (k.TOKENS, k.LABELS))
    for phase in one_forward_one_backward(stage):
        with host.range(phase):
            if phase == "forward":
                yield from _pass(host, "ncclRecv", neighbour=-1, phase=phase)
                yield from launch_all(host, k.FORWARD_LAYER)
                yield from _pass(host, "ncclSend", neighbour=1, phase=phase)
            else:
                yield from _pass(host, "ncclRecv", neighbour=1, phase=phase)
                with host.autograd():
                    yield from launch_all(host, k.BACKWARD_LAYER)
                yield from _pass(host, "ncclSend", neighbour=-1, phase=phase)
    replicas = tuple(range(stage, host.ranks, STAGES))
    communicator = Communicator(name=f"stage {stage}", members=replicas)
    yield from collective(host, _REPLICAS, name="ncclAllReduce", communicator=communicator)
    host.order(before=NCCL_STREAM, after=MAIN_STREAM)
    yield from optimise(host)


def _pass(host: Host, name: Literal["ncclSend", "ncclRecv"], *, neighbour: Literal[-1, 1], phase: Phase) -> Waits:
    """Exchange with the stage before (-1) or after (1), if there is one; a receiver's compute waits for the data."""
    if not 0 <= host.rank % STAGES + neighbour < STAGES:
        return
    lower = min(host.rank, host.rank + neighbour)
    # One NCCL communicator, hence one stream, for each neighbour and direction.
    stream = NCCL_STREAM + 1 + (neighbour == 1) + 2 * (phase == "backward")
    pair = Communicator(name=f"{phase} {lower}", members=(lower, lower + 1), wait_cause=Cause.PIPELINE_BUBBLE)
    yield from collective(host, _PASS, name=name, stream=stream, communicator=pair)
    if name == "ncclRecv":
        host.order(before=stream, after=MAIN_STREAM)
