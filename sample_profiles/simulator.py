"""The event loop: streams run in order, collectives meet, and hosts that wait for the GPU go on when it is done."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sample_profiles.host import Host, Waits
    from sample_profiles.trace import Op

    Program = Callable[[Host], Waits]

_STREAM_LATENCY_NS = 1_100
_EVENT_LATENCY_NS = 1_900


def run(hosts: Sequence[Host], program: Program) -> None:
    """Run `program` on every host until all have ended and every operation is resolved."""
    programs = {host.rank: program(host) for host in hosts}
    waiting = {rank: next(running, None) for rank, running in programs.items()}
    while any(op is not None for op in waiting.values()):
        _settle(hosts)
        ready = [rank for rank, op in waiting.items() if op is not None and op.end is not None]
        if not ready:
            raise RuntimeError(f"the simulated ranks wait for each other: {waiting}")
        for rank in ready:
            waiting[rank] = next(programs[rank], None)
    _settle(hosts)
    if any(queue for host in hosts for queue in host.queues.values()):
        raise RuntimeError("a collective is left that some member never launched")


def _settle(hosts: Sequence[Host]) -> None:
    """Resolve operations, stream by stream in order, until nothing more can be known."""
    queues = [queue for host in hosts for queue in host.queues.values()]
    is_moving = True
    while is_moving:
        is_moving = False
        for queue in queues:
            while queue and _resolve(queue[0]):
                queue.popleft()
                is_moving = True


def _resolve(op: Op) -> bool:
    if op.start is None:
        _find_start(op)
    if op.start is None:
        return False
    if op.meeting is None:
        op.end = op.start + op.duration
        return True
    arrival = op.meeting.arrival()
    if arrival is not None:
        op.end = arrival + op.meeting.transfer + op.lag
    return op.end is not None


def _find_start(op: Op) -> None:
    start, bound_by = op.launched, None
    previous = [] if op.previous is None else [(op.previous, _STREAM_LATENCY_NS)]
    for other, latency in [*previous, *((event, _EVENT_LATENCY_NS) for event in op.waits_for)]:
        if other.end is None:
            return
        if other.end + latency > start:
            start, bound_by = other.end + latency, other
    op.start, op.bound_by = start, bound_by
