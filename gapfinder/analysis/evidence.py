"""What was seen in single holes, in words and numbers for a reader: calls, ranges, launch delay, copies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.copies import DEVICE_TO_HOST, HOST_TO_DEVICE, pageable_copies
from gapfinder.analysis.host_events import HostEvents
from gapfinder.analysis.intervals import union
from gapfinder.explanations import Evidence
from gapfinder.tables import MEMSET

if TYPE_CHECKING:
    import pandas as pd

    from gapfinder.analysis.host_time import HostTime
    from gapfinder.analysis.idle_causes import IdleParts, Launched

_NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class _Seen:
    """A named stretch of one thread's time and how much of it lies in a hole."""

    name: str
    thread: int
    start: int
    end: int

    @property
    def length(self) -> int:
        return self.end - self.start


class Witness:
    """Answers for single holes of one lane.

    Args:
        host: what the threads of its process did.
        ranges: frame RANGES.
        copies: the lane's rows of COPIES.
    """

    def __init__(self, host: HostTime, *, ranges: pd.DataFrame, copies: pd.DataFrame) -> None:
        self._host = host
        self._ranges = HostEvents.of(ranges[ranges["thread"].isin(host.threads)])
        copies = copies[copies["kind"] != MEMSET]
        self._copy_starts, self._copy_ends, kinds = (copies[name].to_numpy() for name in ("start", "end", "kind"))
        self._sizes = np.maximum(copies["bytes"].to_numpy(), 0)
        self._is_pageable = pageable_copies(copies)
        sources, targets = copies["source_memory"].to_numpy(), copies["target_memory"].to_numpy()
        is_told = (kinds == HOST_TO_DEVICE) & (sources >= 0)
        self._is_told = is_told | ((kinds == DEVICE_TO_HOST) & (targets >= 0))

    def evidence(self, hole: tuple[int, int], *, idle: IdleParts, final: Launched) -> Evidence:
        """Return what was seen in one hole, its shares and its communication left out.

        Args:
            hole: start and end, ns.
            idle: the idle parts of this hole.
            final: launch call of what ends the hole, shape (1,).
        """
        start, end = hole
        longest = int(np.argmax(idle.ends - idle.starts)) if len(idle.starts) else None
        call = final
        if not final.is_known[0] and longest is not None:
            call = idle.launched.at(np.array([longest]))
        if not call.is_known[0]:
            return self._with_copies(Evidence(), start, end)
        began, thread = int(call.starts[0]), int(call.threads[0])
        seen = self._longest_call(thread, began, start, end)
        around = hole if longest is None else (int(idle.starts[longest]), int(idle.ends[longest]))
        if seen and 2 * seen.length >= around[1] - around[0]:
            thread, around = seen.thread, (seen.start, seen.end)
        evidence = Evidence(
            call=seen.name if seen else None,
            call_ns=seen.length if seen else None,
            nvtx=self._range_around(thread, *around),
            launch_delay_ns=max(0, began - start),
        )
        return self._with_copies(evidence, start, end)

    def _longest_call(self, thread: int, began: int, start: int, end: int) -> _Seen | None:
        """Return the CUDA or OS call that the launching thread, or one it took over from, was in for longest."""
        threads = self._host.threads_behind(thread, anchor=began, start=start)
        seen = [
            _Seen(events.texts[name], number, max(first, start), min(last, end))
            for number in threads
            for events in self._host.calls_in(number, start, end)
            for first, last, name in zip(
                events.starts.tolist(), events.ends.tolist(), events.names.tolist(), strict=True
            )
        ]
        return max(seen, key=lambda one: (one.length, -one.start, one.name), default=None)

    def _range_around(self, thread: int, start: int, end: int) -> str | None:
        """Return the shortest range with more than half of [start, end), of this thread or else of another one."""
        ranges = self._ranges
        inside = np.minimum(ranges.ends, end) - np.maximum(ranges.starts, start)
        found = ranges.select(2 * inside > end - start)
        if len(found) == 0:
            return None
        shortest = np.lexsort((found.names, -found.starts, found.ends - found.starts, found.threads != thread))[0]
        return found.texts[int(found.names[shortest])]

    def _with_copies(self, evidence: Evidence, start: int, end: int) -> Evidence:
        """Add what the copies that run in the hole moved; their bandwidth is over the time that they ran at all."""
        takes_time = self._copy_ends > self._copy_starts
        rows = np.flatnonzero(takes_time & (self._copy_starts < end) & (self._copy_ends > start))
        moved = int(self._sizes[rows].sum())
        if not moved:
            return evidence
        time = union(self._copy_starts[rows], self._copy_ends[rows]).total
        return replace(
            evidence,
            copied_bytes=moved,
            copy_bandwidth=moved * _NS_PER_S / time,
            is_pageable=bool(self._is_pageable[rows].any()) if self._is_told[rows].any() else None,
        )
