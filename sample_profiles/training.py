"""The training steps that are simulated, written as the launches a PyTorch program makes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING

from sample_profiles import kernels as k
from sample_profiles.host import MAIN_STREAM, NCCL_STREAM, WAKE_UP_NS
from sample_profiles.trace import Cause

if TYPE_CHECKING:
    from collections.abc import Iterable

    from sample_profiles.host import Host, Waits
    from sample_profiles.network import Communicator
    from sample_profiles.trace import Op

NCCL_DOMAIN = "NCCL"
TOOL_DOMAIN = "gapfinder"
LAYERS = 5
_LAZY_LOADING, _BUFFER_FLUSH = 7, 3  # CUPTI's numbers of overheads

_BUCKET = k.collective("AllReduce_Sum_bf16_RING_LL", usual_ns=3_900_000)
_LAST_BUCKET = k.collective("AllReduce_Sum_bf16_RING_LL", usual_ns=260_000)
_NORM = k.collective("AllReduce_Sum_f32_RING_LL", usual_ns=138_000)
_GATHER = k.collective("AllGather_RING_LL", usual_ns=1_650_000)
_SCATTER = k.collective("ReduceScatter_Sum_bf16_RING_LL", usual_ns=1_900_000)
# Reduced once backward has finished that layer; the first layer's bucket comes last and is small, as DDP's is.
_BUCKETS = {3: _BUCKET, 1: _BUCKET, 0: _LAST_BUCKET}
_GRAPH = k.Graph(graph=3, instance=4, usual_ns=31_000_000)
_REALLOCATING_STEPS = (2, 4)


class Reduce(Enum):
    """When and where data-parallel gradients are reduced."""

    BUCKETS = "during backward, on NCCL's stream"
    AFTERWARDS = "after backward, on NCCL's stream"
    SAME_STREAM = "during backward, on the stream of the compute"


@dataclass(frozen=True, kw_only=True, slots=True)
class Loader:
    """The data loader: its workers need `batch_ns` per batch, and `ahead` batches are ready at the start."""

    batch_ns: int = 4_000_000
    ahead: int = 2

    def next_batch(self, host: Host, *, step: int) -> None:
        """Take the batch of `step`, waiting for the workers when it is not ready."""
        behind = max(0, step + 1 - self.ahead)
        late = int(host.rng.integers(0, self.batch_ns // 12))
        ready = host.process.began + behind * self.batch_ns + late
        with host.range("data loading"):
            if behind and ready > host.now:
                with host.os_call("poll"):
                    host.wait_until(ready, cause=Cause.DATA_LOADING)
            with host.os_call("read"):
                host.work(24_000, cause=Cause.DATA_LOADING)


def launch_all(host: Host, work: Iterable[k.Work]) -> Waits:
    """Launch everything on the main stream, in order."""
    for item in work:
        yield from host.launch(item)


def collective(
    host: Host, work: k.Kernel, *, name: str, stream: int = NCCL_STREAM, communicator: Communicator | None = None
) -> Waits:
    """Launch a collective in its NCCL range; as with ProcessGroupNCCL its stream first waits for the main stream."""
    if stream != MAIN_STREAM:
        host.order(before=MAIN_STREAM, after=stream)
    with host.range(name, domain=NCCL_DOMAIN):
        yield from host.meet(work, communicator=communicator, stream=stream)


def optimise(host: Host) -> Waits:
    """Take the norm of the gradients, run two fused optimizer kernels, clear the gradients."""
    with host.range("optimizer"):
        yield from launch_all(host, (k.GRADIENT_NORM, k.ADAM, k.ADAM, k.ZERO_GRADIENTS))


@dataclass(frozen=True, kw_only=True, slots=True)
class DataParallel:
    """A step of DistributedDataParallel, or of a script that imitates it.

    Attributes:
        reads_loss: `.item()` on the loss at the end of each step.
        metrics_ns: Python work between the first two launches of forward.
        lazy_ns: time the capture's first matrix product needs to load its code.
    """

    reduce: Reduce = Reduce.BUCKETS
    layers: int = LAYERS
    reads_loss: bool = False
    metrics_ns: int = 0
    lazy_ns: int = 0

    def __call__(self, host: Host, step: int) -> Waits:
        """Run forward, backward and optimizer."""
        yield from launch_all(host, (k.TOKENS, k.LABELS))
        with host.range("forward"):
            yield from self._forward(host, step)
        with host.range("backward"):
            with host.autograd():
                yield from self._backward(host)
            if self.reduce is Reduce.AFTERWARDS:
                for bucket in _BUCKETS.values():
                    yield from collective(host, bucket, name="ncclAllReduce")
        if self.reduce is not Reduce.SAME_STREAM:
            host.order(before=NCCL_STREAM, after=MAIN_STREAM)
        yield from optimise(host)
        if self.reads_loss:
            yield from host.launch(k.LOSS_VALUE)
            yield from host.synchronise(wake_up_ns=24 * WAKE_UP_NS)

    def _forward(self, host: Host, step: int) -> Waits:
        yield from host.launch(k.EMBEDDING)
        if self.metrics_ns:
            host.work(self.metrics_ns, cause=Cause.HOST_CODE)
        if self.lazy_ns and step == 0:
            with host.overhead("Lazy function loading", kind=_LAZY_LOADING):
                host.work(self.lazy_ns, cause=Cause.WARM_UP)
        yield from launch_all(host, (*k.FORWARD_LAYER * self.layers, k.CROSS_ENTROPY))

    def _backward(self, host: Host) -> Waits:
        stream = MAIN_STREAM if self.reduce is Reduce.SAME_STREAM else NCCL_STREAM
        for layer in reversed(range(self.layers)):
            yield from launch_all(host, k.BACKWARD_LAYER)
            if self.reduce is not Reduce.AFTERWARDS and layer in _BUCKETS:
                yield from collective(host, _BUCKETS[layer], name="ncclAllReduce", stream=stream)


def sharded(host: Host, step: int) -> Waits:
    """Run a ZeRO-3 step: layers are gathered before use, one ahead of the compute, and their gradients scattered."""
    yield from launch_all(host, (k.TOKENS, k.LABELS))
    with host.range("forward"):
        yield from host.launch(k.EMBEDDING)
        yield from _gathered(host, k.FORWARD_LAYER)
        yield from host.launch(k.CROSS_ENTROPY)
    with host.range("backward"), host.autograd():
        if step in _REALLOCATING_STEPS:
            yield from host.reallocate(free_ns=420_000, malloc_ns=1_900_000)
        yield from _gathered(host, k.BACKWARD_LAYER, scatter=_SCATTER)
    host.order(before=NCCL_STREAM, after=MAIN_STREAM)
    yield from optimise(host)


def _gathered(host: Host, layer: tuple[k.Kernel, ...], *, scatter: k.Kernel | None = None) -> Waits:
    yield from collective(host, _GATHER, name="ncclAllGather")
    gathered: Op | None = host.record(NCCL_STREAM)
    for remaining in reversed(range(LAYERS)):
        host.wait(gathered, stream=MAIN_STREAM)
        if remaining:
            yield from collective(host, _GATHER, name="ncclAllGather")
            gathered = host.record(NCCL_STREAM)
        yield from launch_all(host, layer)
        if scatter is not None:
            yield from collective(host, scatter, name="ncclReduceScatter")


def graphed(host: Host, step: int) -> Waits:
    """Copy the batch into the graph's input, replay forward, backward and their collectives as one CUDA graph."""
    del step
    yield from host.launch(k.PAGEABLE_FEATURES)
    with host.range("graph replay"):
        yield from host.meet(_GRAPH, stream=MAIN_STREAM)
    yield from collective(host, _NORM, name="ncclAllReduce")
    host.order(before=NCCL_STREAM, after=MAIN_STREAM)
    yield from optimise(host)


def write_checkpoint(host: Host) -> Waits:
    """Copy parameters back and write them to disk; the other ranks wait at their next collective."""
    with host.range("checkpoint"):
        yield from host.launch(k.CHECKPOINT_SHARD)
        yield from host.synchronise()
        for _ in range(4):
            with host.os_call("write"):
                host.work(3_100_000, cause=Cause.CHECKPOINT)


def collect_garbage(host: Host) -> Waits:
    """Let Python's cyclic collector run over everything."""
    with host.range("garbage collection", domain=TOOL_DOMAIN):
        host.work(8_700_000, cause=Cause.GARBAGE_COLLECTION)
    yield from ()


def flush_profiler(host: Host) -> Waits:
    """Let the profiler write its buffers out on the launching thread."""
    with host.overhead("CUPTI Buffer flush", kind=_BUFFER_FLUSH):
        host.work(1_480_000, cause=Cause.PROFILER_OVERHEAD)
    yield from ()
