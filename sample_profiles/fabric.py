"""How the ranks of a job are connected: its communicators, their bandwidths, and the messages they carry."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

import numpy as np

from sample_profiles import kernels as k
from sample_profiles.host import MAIN_STREAM
from sample_profiles.job import SLOW_NIC
from sample_profiles.network import Communicator
from sample_profiles.payloads import Payload, Schema
from sample_profiles.training import NCCL_DOMAIN

if TYPE_CHECKING:
    from sample_profiles.host import Host, Waits
    from sample_profiles.job import Job

_OWN_RANDOM_STREAM = 3_000_017
_MIB = 1 << 20
_SUM = 0
_USUAL = 1_000


class Scope(StrEnum):
    """Which ranks a communicator joins."""

    WORLD = "world"
    NODE = "node"
    LINK = "link"


# Bytes per ns that a rank moves, and ns of latency: NVLink in a machine, a 400 Gb/s NIC between two. All-reduces over
# all ranks use other NICs and NVLink, so a slow NIC of the ring leaves them alone.
_BANDWIDTHS = {Scope.WORLD: (90, 60_000), Scope.NODE: (330, 18_000), Scope.LINK: (45, 14_000)}


@dataclass(frozen=True, kw_only=True, slots=True)
class Message:
    """One kind of NCCL call; `bytes` as the call counts them: of an all-gather or reduce-scatter one rank's part."""

    call: str
    kernel: str
    schema: Schema
    bytes: int

    def moved(self, ranks: int) -> int:
        """Return the bytes that each of `ranks` moves (design: the communication bill)."""
        match self.schema:
            case Schema.ALL_REDUCE:
                return 2 * (ranks - 1) * self.bytes // ranks
            case Schema.ALL_GATHER | Schema.REDUCE_SCATTER:
                return (ranks - 1) * self.bytes
        return self.bytes


def _all_reduce(size: int) -> Message:
    return Message(
        call="ncclAllReduce", kernel="AllReduce_Sum_bf16_RING_LL", schema=Schema.ALL_REDUCE, bytes=size * _MIB
    )


BUCKET, LAST_BUCKET = _all_reduce(128), _all_reduce(8)
GATHER = Message(call="ncclAllGather", kernel="AllGather_RING_LL", schema=Schema.ALL_GATHER, bytes=16 * _MIB)
SCATTER = Message(
    call="ncclReduceScatter", kernel="ReduceScatter_Sum_bf16_RING_LL", schema=Schema.REDUCE_SCATTER, bytes=16 * _MIB
)
SEND = Message(call="ncclSend", kernel="SendRecv", schema=Schema.SEND, bytes=32 * _MIB)
RECEIVE = Message(call="ncclRecv", kernel="SendRecv", schema=Schema.RECEIVE, bytes=32 * _MIB)


@dataclass(frozen=True, kw_only=True, slots=True)
class Channel:
    """A communicator and the stream that its members run it on.

    Attributes:
        id: NCCL's number of it, unsigned, the same on all its ranks.
        slowdown: time of its transfers in thousandths of the usual.
        log: step and message of each of its collectives, in order.
    """

    communicator: Communicator
    scope: Scope
    id: int
    slowdown: int = _USUAL
    log: list[tuple[int, Message]] = field(default_factory=list)

    def transfer_ns(self, message: Message) -> int:
        """Return how long a message usually takes once all ranks are there."""
        bandwidth, latency = _BANDWIDTHS[self.scope]
        return latency + message.moved(len(self.communicator.members)) * self.slowdown // (bandwidth * _USUAL)


@dataclass(frozen=True, kw_only=True, slots=True)
class Member:
    """The channels that one rank is in; None where the job has none of that scope."""

    world: Channel
    node: Channel | None
    following: Channel | None
    preceding: Channel | None

    @property
    def channels(self) -> tuple[Channel, ...]:
        """Those that exist, in the order in which the rank makes them."""
        return tuple(one for one in (self.world, self.node, self.following, self.preceding) if one)


class Fabric:
    """All channels of a job.

    World: all ranks. Node: the ranks of one machine. Link: a pair of ranks with the same place in two machines; each
    machine sends to the next, so links form a ring, and a slow NIC shows in all links of its machine and in no other.
    """

    def __init__(self, job: Job, *, has_payloads: bool) -> None:
        self._job = job
        self.has_payloads = has_payloads
        self._rng = np.random.default_rng([job.seed, _OWN_RANDOM_STREAM])
        self.world = self._channel(Scope.WORLD, "world", tuple(range(job.world_size)))
        hosts = range(job.hosts)
        self.nodes = [self._channel(Scope.NODE, f"node{host}", job.ranks_of(host)) for host in hosts if job.gpus > 1]
        # Two machines have one link, not one each way; one machine has none.
        senders = range({1: 0, 2: job.gpus}.get(job.hosts, job.world_size))
        self.links = {
            rank: self._channel(Scope.LINK, f"link{rank}", (rank, (rank + job.gpus) % job.world_size))
            for rank in senders
        }

    def _channel(self, scope: Scope, name: str, members: tuple[int, ...]) -> Channel:
        is_slow = scope is Scope.LINK and self._job.slow_nic in {self._job.host_of(rank) for rank in members}
        return Channel(
            communicator=Communicator(name=name, members=members),
            scope=scope,
            id=int(self._rng.integers(0, 1 << 64, dtype=np.uint64)),
            slowdown=SLOW_NIC if is_slow else _USUAL,
        )

    @property
    def channels(self) -> list[Channel]:
        """All of them: world, nodes, links."""
        return [self.world, *self.nodes, *self.links.values()]

    def member(self, rank: int) -> Member:
        """Return the channels of one rank."""
        return Member(
            world=self.world,
            node=self.nodes[self._job.host_of(rank)] if self.nodes else None,
            following=self.links.get(rank),
            preceding=self.links.get((rank - self._job.gpus) % self._job.world_size),
        )

    def initialise(self, host: Host) -> None:
        """Make the rank's communicators, as frameworks do before the first step."""
        for channel in self.member(host.rank).channels:
            members = channel.communicator.members
            place = (len(members), members.index(host.rank), host.process.device)
            payload = Payload(Schema.INIT, (channel.id, *place)) if self.has_payloads else None
            with host.range("ncclCommInitRank", domain=NCCL_DOMAIN, payload=payload):
                host.work(1_400_000)

    def run(self, host: Host, message: Message, *, channel: Channel, stream: int, step: int) -> Waits:
        """Launch this rank's part of a collective; its stream first waits for the main stream."""
        members = channel.communicator.members
        if host.rank == members[0]:
            channel.log.append((step, message))
        host.order(before=MAIN_STREAM, after=stream)
        with host.range(message.call, domain=NCCL_DOMAIN, payload=self._payload(host.rank, message, channel)):
            kernel = k.collective(message.kernel, usual_ns=channel.transfer_ns(message))
            yield from host.meet(kernel, communicator=channel.communicator, stream=stream)

    def _payload(self, rank: int, message: Message, channel: Channel) -> Payload | None:
        if not self.has_payloads:
            return None
        members = channel.communicator.members
        match message.schema:
            case Schema.ALL_REDUCE | Schema.REDUCE_SCATTER:
                last: tuple[int, ...] = (_SUM,)
            case Schema.SEND | Schema.RECEIVE:
                last = (1 - members.index(rank),)
            case _:
                last = ()
        return Payload(message.schema, (channel.id, message.bytes, *last))
