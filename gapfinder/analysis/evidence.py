"""What was seen in single holes, in words and numbers for a reader: calls, ranges, launch delay, copies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.copies import DEVICE_TO_HOST, HOST_TO_DEVICE, pageable_copies
from gapfinder.analysis.host_events import HostEvents
from gapfinder.analysis.idle_causes import host_times, launch_calls, longest_wait
from gapfinder.analysis.intervals import Measure, intersect, merge, union
from gapfinder.explanations import Cause, Evidence
from gapfinder.tables import MEMSET
from gapfinder.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gapfinder.analysis.causes import HoleSources
    from gapfinder.analysis.idle_causes import IdleParts, Launched
    from gapfinder.analysis.intervals import Int64s, Intervals
    from gapfinder.analysis.lanes import Operations


_ON_DEVICE = (Cause.HOST_TO_DEVICE_COPY, Cause.COPY, Cause.DEVICE_WAIT, Cause.GRAPH_UNKNOWN)


@dataclass(frozen=True, slots=True, eq=False)
class SeenHole:
    """A hole to be looked at.

    Attributes:
        start, end: ns.
        place: among the lane's holes, shape (1,).
        cause: its main cause, communication apart; None where there is nothing but communication.
        idle: its idle parts.
        final: launch call of what ends each hole of the lane.
        opened: since when untraced graphs may run in each hole of the lane.
    """

    start: int
    end: int
    place: Int64s
    cause: Cause | None
    idle: IdleParts
    final: Launched
    opened: Int64s


@dataclass(frozen=True, slots=True)
class _Seen:
    """All events of one name that have a part in some time.

    Attributes:
        name: theirs.
        inside: ns of that time in which one of them lasts.
        length: ns in which one of them lasts at all.
        start: of the first, ns.
    """

    name: str
    inside: int
    length: int
    start: int


class Witness:
    """Answers for single holes of one lane."""

    def __init__(self, sources: HoleSources) -> None:
        self._host, self._launches = sources.host, sources.launches
        ranges, rows = sources.ranges, sources.copies
        self._ranges = HostEvents.of(ranges[ranges["thread"].isin(self._host.threads)])
        self._communication, self._copies = sources.lane.communication, sources.lane.copies
        self._is_from_host = rows["kind"].to_numpy() == HOST_TO_DEVICE
        copies = rows[rows["kind"] != MEMSET]
        self._copy_starts, self._copy_ends, kinds = (copies[name].to_numpy() for name in ("start", "end", "kind"))
        self._sizes = np.maximum(copies["bytes"].to_numpy(), 0)
        self._is_pageable = pageable_copies(copies)
        origins, targets = copies["source_memory"].to_numpy(), copies["target_memory"].to_numpy()
        is_told = (kinds == HOST_TO_DEVICE) & (origins >= 0)
        self._is_told = is_told | ((kinds == DEVICE_TO_HOST) & (targets >= 0))

    def evidence(self, hole: SeenHole) -> Evidence:
        """Return what was seen of the hole's main cause, its shares and its communication left out."""
        evidence = Evidence(launch_delay_ns=self._delay(hole))
        if hole.cause in _ON_DEVICE:
            evidence = replace(evidence, nvtx=self._range_over(self._launch_of(hole)))
        elif hole.cause is not None and hole.cause is not Cause.UNKNOWN:
            times = host_times(hole.cause, hole.idle, hole_ends=hole.final, host=self._host, opened=hole.opened)
            call = self._longest_call(times, hole)
            evidence = replace(
                evidence,
                call=call.name if call else None,
                call_ns=call.inside if call else None,
                nvtx=self._range_over(times),
            )
        return self._with_copies(evidence, hole.start, hole.end)

    def around_communication(self, start: int, end: int) -> str | None:
        """Return the range in which the longest communication in [start, end) was launched."""
        return self._range_over(_time_of(self._launch_of_longest(self._communication, start, end)))

    def _delay(self, hole: SeenHole) -> int | None:
        """Return how long after the hole's start the launch call of what ends its idle part began."""
        idle, call = hole.idle, hole.final.at(hole.place)
        if not call.is_known.any() and len(idle.starts):
            call = idle.launched.at(np.array([np.argmax(idle.ends - idle.starts)]))
        return max(0, int(call.starts[0]) - hole.start) if call.is_known.any() else None

    def _launch_of(self, hole: SeenHole) -> dict[int, Intervals]:
        """Return when which thread launched what a cause on the device is about."""
        if hole.cause is Cause.DEVICE_WAIT:
            return _time_of(longest_wait(hole.idle, hole_ends=hole.final, opened=hole.opened))
        if hole.cause is Cause.GRAPH_UNKNOWN:
            began = hole.opened[hole.place]
            return dict.fromkeys(self._host.threads, union(began, began + 1))
        is_wanted = self._is_from_host if hole.cause is Cause.HOST_TO_DEVICE_COPY else ~self._is_from_host
        return _time_of(self._launch_of_longest(self._copies.select(is_wanted), hole.start, hole.end))

    def _launch_of_longest(self, operations: Operations, start: int, end: int) -> Launched:
        """Return the launch call of the operation with the longest part in [start, end); shape (1,) or (0,)."""
        inside = np.minimum(operations.ends, end) - np.maximum(operations.starts, start)
        longest = np.argsort(-inside, kind="stable")[:1]
        return launch_calls(operations.calls[longest[inside[longest] > 0]], self._launches)

    def _longest_call(self, times: dict[int, Intervals], hole: SeenHole) -> _Seen | None:
        """Return the CUDA or OS calls that took most of these times of threads."""
        calls = [
            (events, time)
            for thread, time in times.items()
            for events in self._host.calls_in(thread, hole.start, hole.end)
        ]
        return max(_seen(calls), key=lambda one: (one.inside, -one.start, one.name), default=None)

    def _range_over(self, times: dict[int, Intervals]) -> str | None:
        """Return the shortest ranges with more than half of these times, of the same threads or else of any."""
        time = merge(*times.values())
        if len(time) == 0:
            return None
        ranges = self._ranges.select((self._ranges.starts < time.ends[-1]) & (self._ranges.ends > time.starts[0]))
        own = [(ranges.of_thread(thread), one) for thread, one in times.items()]
        for candidates in (own, [(ranges, time)]):
            most = [one for one in _seen(candidates) if 2 * one.inside > time.total]
            if most:
                return min(most, key=lambda one: (one.length, -one.start, one.name)).name
        return None

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
            copy_bandwidth=moved * NS_PER_S / time,
            is_pageable=bool(self._is_pageable[rows].any()) if self._is_told[rows].any() else None,
        )


def _time_of(call: Launched) -> dict[int, Intervals]:
    """Return when which thread was in a call; one without length lasts for an instant."""
    call = call.at(np.flatnonzero(call.is_known))
    return {
        thread: union(call.starts, np.maximum(call.ends, call.starts + 1))
        for thread in np.unique(call.threads).tolist()
    }


def _seen(pairs: Iterable[tuple[HostEvents, Intervals]]) -> list[_Seen]:
    """Return the events that have a part in the time beside them, by name."""
    found: dict[str, list[tuple[HostEvents, Intervals]]] = {}
    for events, time in pairs:
        met = events.select(Measure(time).within(events.starts, np.maximum(events.starts, events.ends)) > 0)
        for code in np.unique(met.names).tolist():
            found.setdefault(met.texts[code], []).append((met.select(met.names == code), time))
    return [
        _Seen(
            name,
            merge(*(intersect(events.covered(), time) for events, time in own)).total,
            merge(*(events.covered() for events, _ in own)).total,
            min(int(events.starts.min()) for events, _ in own),
        )
        for name, own in found.items()
    ]
