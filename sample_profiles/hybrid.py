"""A step of hybrid sharding: layers gathered in each machine, gradients reduced over all, a ring between machines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from sample_profiles import kernels as k
from sample_profiles.fabric import BUCKET, GATHER, LAST_BUCKET, RECEIVE, SCATTER, SEND
from sample_profiles.host import MAIN_STREAM, NCCL_STREAM
from sample_profiles.training import launch_all, optimise

if TYPE_CHECKING:
    from collections.abc import Generator

    from sample_profiles.fabric import Fabric, Member
    from sample_profiles.host import Host, Waits
    from sample_profiles.trace import Op

# As with ProcessGroupNCCL, a communicator has a stream of its own.
_NODE_STREAM, _SEND_STREAM, _RECEIVE_STREAM = NCCL_STREAM + 4, NCCL_STREAM + 8, NCCL_STREAM + 12
_LAYERS_A_BUCKET = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class HybridShard:
    """Launches one step of one rank."""

    fabric: Fabric
    layers: int

    def __call__(self, host: Host, step: int) -> Waits:
        """Run forward, backward and optimizer."""
        mine = self.fabric.member(host.rank)
        yield from launch_all(host, (k.TOKENS, k.LABELS))
        with host.range("forward"):
            yield from host.launch(k.EMBEDDING)
            yield from self._exchange(host, mine, step)
            yield from self._forward(host, mine, step)
            for stream, channel in ((_SEND_STREAM, mine.following), (_RECEIVE_STREAM, mine.preceding)):
                if channel is not None:
                    host.order(before=stream, after=MAIN_STREAM)
            yield from host.launch(k.CROSS_ENTROPY)
        with host.range("backward"), host.autograd():
            yield from self._backward(host, mine, step)
        if mine.node is not None:
            host.order(before=_NODE_STREAM, after=MAIN_STREAM)
        host.order(before=NCCL_STREAM, after=MAIN_STREAM)
        yield from optimise(host)

    def _exchange(self, host: Host, mine: Member, step: int) -> Waits:
        """Send to the next machine and receive from the one before, both at once and beside the first layers."""
        if mine.following is not None:
            yield from self.fabric.run(host, SEND, channel=mine.following, stream=_SEND_STREAM, step=step)
        if mine.preceding is not None:
            yield from self.fabric.run(host, RECEIVE, channel=mine.preceding, stream=_RECEIVE_STREAM, step=step)

    def _forward(self, host: Host, mine: Member, step: int) -> Waits:
        """Gather each layer one ahead of the compute."""
        gathered = yield from self._gather(host, mine, step)
        for following in reversed(range(self.layers)):
            gathered = yield from self._next_layer(host, mine, step, gathered=gathered, is_last=not following)
            yield from launch_all(host, k.FORWARD_LAYER)

    def _backward(self, host: Host, mine: Member, step: int) -> Waits:
        """Gather layers again, scatter their gradients, and reduce them in buckets; the first layer's is small."""
        gathered = yield from self._gather(host, mine, step)
        for layer in reversed(range(self.layers)):
            gathered = yield from self._next_layer(host, mine, step, gathered=gathered, is_last=not layer)
            yield from launch_all(host, k.BACKWARD_LAYER)
            if mine.node is not None:
                yield from self.fabric.run(host, SCATTER, channel=mine.node, stream=_NODE_STREAM, step=step)
            if layer == 0 or (self.layers - layer) % _LAYERS_A_BUCKET == 0:
                bucket = BUCKET if layer else LAST_BUCKET
                yield from self.fabric.run(host, bucket, channel=mine.world, stream=NCCL_STREAM, step=step)

    def _next_layer(
        self, host: Host, mine: Member, step: int, *, gathered: Op | None, is_last: bool
    ) -> Generator[Op, None, Op | None]:
        """Let the compute wait for its layer, and gather the one after it; return that one's event."""
        if gathered is not None:
            host.wait(gathered, stream=MAIN_STREAM)
        return None if is_last else (yield from self._gather(host, mine, step))

    def _gather(self, host: Host, mine: Member, step: int) -> Generator[Op, None, Op | None]:
        """Gather a layer in the machine; return its event, None where each machine has one rank."""
        if mine.node is None:
            return None
        yield from self.fabric.run(host, GATHER, channel=mine.node, stream=_NODE_STREAM, step=step)
        return host.record(_NODE_STREAM)
