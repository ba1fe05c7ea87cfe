"""Which rank a step of the whole job waited for: its critical path, read off the simulation's own records."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from sample_profiles.host import LAUNCH_LATENCY_NS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sample_profiles.trace import Op, Process, Rendezvous

NETWORK = None
"""Stands for the transfers of collectives, which no single rank is charged with."""


class CriticalPath:
    """Charges every ns from `floor` to the end of a collective's transfer to a rank, or to the network.

    Attributes:
        shares: ns by rank; they add up to the stretch.
    """

    def __init__(self, processes: Sequence[Process], *, last: Rendezvous, floor: int) -> None:
        self._processes = processes
        self._floor = floor
        self._at = end_of(last)
        self.shares: dict[int | None, int] = {}
        self._follow(last)

    def critical_rank(self) -> int:
        """Return the rank with the most time, the lowest among equals."""
        return max((rank for rank in self.shares if rank is not None), key=lambda rank: (self.shares[rank], -rank))

    def _charge(self, rank: int | None, start: int) -> None:
        start = max(start, self._floor)
        if start < self._at:
            self.shares[rank] = self.shares.get(rank, 0) + self._at - start
            self._at = start

    def _follow(self, last: Rendezvous) -> None:
        rank, op = self._before_transfer(last)
        while self._at > self._floor:
            holder = op.bound_by
            if holder is None:
                self._charge(rank, op.launched - LAUNCH_LATENCY_NS)
                holder = self._host_waited_for(rank)
            if holder is None:
                self._charge(rank, self._floor)
                return
            self._charge(rank, holder.span[1])
            if holder.meeting is None:
                op = holder
            else:
                rank, op = self._before_transfer(holder.meeting)

    def _before_transfer(self, meeting: Rendezvous) -> tuple[int, Op]:
        """Charge the network with a transfer; return who came last to it."""
        rank = meeting.last_rank()
        op = meeting.ops[rank]
        self._charge(NETWORK, op.span[0])
        return rank, op

    def _host_waited_for(self, rank: int) -> Op | None:
        """Return the operation whose end let the rank's host go on, the last time it waited for one."""
        activities = self._processes[rank].activities
        index = bisect_left(activities, self._at, key=lambda activity: activity.start)
        for activity in reversed(activities[:index]):
            if activity.waited_for is not None:
                return activity.waited_for
            if activity.start <= self._floor:
                break
        return None


def end_of(meeting: Rendezvous) -> int:
    """Return when the transfer ended."""
    arrival = meeting.arrival()
    if arrival is None:
        raise RuntimeError("a collective is not resolved")
    return arrival + meeting.transfer
