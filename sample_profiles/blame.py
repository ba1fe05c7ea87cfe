"""Why a hole is there, read off the simulation's own records: the critical path of the operation that ends it."""

from __future__ import annotations

from bisect import bisect_left
from typing import TYPE_CHECKING

from sample_profiles.host import LAUNCH_LATENCY_NS
from sample_profiles.kernels import HOST_TO_DEVICE, Copy
from sample_profiles.trace import Activity, Cause, Op, OpKind, Process

if TYPE_CHECKING:
    from collections.abc import Sequence


class Blame:
    """Charges every ns of [floor, end) to a cause, going back in time from what happened at `end`."""

    def __init__(self, process: Process, *, floor: int, end: int) -> None:
        self._activities: Sequence[Activity] = process.activities
        self._floor = floor
        self._at = end
        self.shares: dict[Cause, int] = {}
        self.late_rank: int | None = None

    def main_cause(self) -> Cause:
        """Return the cause with the most time; the first in the list of causes among equals."""
        return max(Cause, key=lambda cause: self.shares.get(cause, 0))

    def start_of(self, op: Op) -> Blame:
        """Explain why `op` did not start earlier."""
        holder: Op | None = op
        while holder is not None and self._at > self._floor:
            holder = self._what_held(holder)
            if holder is not None:
                self._ran(holder)
        self._charge(Cause.UNKNOWN, self._floor)
        return self

    def end_of(self, op: Op) -> Blame:
        """Explain the time up to the end of `op`, the last one of its window."""
        self._ran(op)
        return self.start_of(op)

    def _charge(self, cause: Cause, start: int) -> None:
        start = max(start, self._floor)
        if start < self._at:
            self.shares[cause] = self.shares.get(cause, 0) + self._at - start
            self._at = start

    def _what_held(self, op: Op) -> Op | None:
        if op.bound_by is not None:
            self._charge(Cause.DEVICE_WAIT, op.bound_by.span[1])
            return op.bound_by
        self._charge(Cause.LAUNCH_BOUND, op.launched - LAUNCH_LATENCY_NS)
        return self._host_was_late()

    def _host_was_late(self) -> Op | None:
        index = bisect_left(self._activities, self._at, key=lambda activity: activity.start)
        for activity in reversed(self._activities[:index]):
            if activity.waited_for is not None:
                return activity.waited_for
            self._charge(activity.cause, activity.start)
            if self._at <= self._floor:
                break
        return None

    def _ran(self, op: Op) -> None:
        start, end = op.span
        if op.kind is OpKind.COPY:
            is_upload = isinstance(op.work, Copy) and op.work.kind == HOST_TO_DEVICE
            self._charge(Cause.HOST_TO_DEVICE_COPY if is_upload else Cause.DEVICE_WAIT, start)
        if op.kind is OpKind.COMMUNICATION and op.meeting is not None:
            self._charge(Cause.TRANSFER, max(start, end - op.meeting.transfer))
            if start < self._at:
                self.late_rank = op.meeting.last_rank()
            self._charge(op.meeting.wait_cause, start)
