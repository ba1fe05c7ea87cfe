"""Charges the idle time in holes: to what the host did until it launched what ends it, or to the device.

An idle stretch ends when an operation begins. Up to that operation's launch call the host was late, and what the thread
did that launches the end of the hole explains it. From there on the device waited.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.host_events import CAUSES, PLACE
from gapfinder.analysis.intervals import complement, merge, union
from gapfinder.budget import Window
from gapfinder.explanations import Cause

if TYPE_CHECKING:
    from gapfinder.analysis.host_time import HostTime
    from gapfinder.analysis.intervals import Bools, Int64s, Intervals
    from gapfinder.analysis.lanes import LaneOperations, Operations
    from gapfinder.analysis.launches import Launches
    from gapfinder.analysis.timeline import HoleParts


LAUNCH_LATENCY_NS = 20_000
"""The longest time from the return of a launch call to the start of its operation that counts as launching it.

An idle GPU starts a kernel about 3 to 10 µs after its launch; what takes longer was held up on the device.
"""

NOT_CAPTURED = -1
NO_THREAD = 0
_LATEST = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class Launched:
    """Launch calls of some operations; each array has shape (n,).

    Attributes:
        starts, ends: ns; the largest int64 where the call was not captured.
        threads: globalTid; NO_THREAD where the call was not captured.
        is_known: whether it was captured.
    """

    starts: Int64s
    ends: Int64s
    threads: Int64s
    is_known: Bools

    def at(self, rows: Int64s) -> Launched:
        """Return some of them."""
        return Launched(self.starts[rows], self.ends[rows], self.threads[rows], self.is_known[rows])


@dataclass(frozen=True, slots=True, eq=False)
class IdleParts:
    """The idle stretches inside holes, in order of time; each array has shape (n,).

    Attributes:
        starts, ends: ns.
        holes: place of the hole that each is in.
        launched: launch call of the operation that ends it.
    """

    starts: Int64s
    ends: Int64s
    holes: Int64s
    launched: Launched

    def of_holes(self, first: int, end: int) -> IdleParts:
        """Return those of the holes from place `first` up to `end`."""
        rows = np.arange(*np.searchsorted(self.holes, (first, end)))
        return IdleParts(self.starts[rows], self.ends[rows], self.holes[rows], self.launched.at(rows))


def idle_parts(lane: LaneOperations, *, holes: HoleParts, busy: Intervals, launches: Launches | None) -> IdleParts:
    """Return the idle stretches of a lane's holes and what ended each.

    Args:
        lane: its operations.
        holes: its holes.
        busy: when at least one operation runs.
        launches: CUDA calls of its process.
    """
    if len(holes) == 0:
        nothing = np.empty(0, np.int64)
        return IdleParts(nothing, nothing, nothing, launch_calls(nothing, launches))
    idle = complement(busy, window=Window(start_ns=int(holes.starts[0]), end_ns=int(holes.ends[-1])))
    place = np.searchsorted(holes.starts, idle.starts, side="right") - 1
    inside = idle.starts < holes.ends[place]
    starts, ends, place = idle.starts[inside], idle.ends[inside], place[inside]
    return IdleParts(starts, ends, place, launched_at(lane.by_kind, ends, launches=launches))


def launched_at(kinds: tuple[Operations, ...], times: Int64s, *, launches: Launches | None) -> Launched:
    """Return the launch call of the first operation that starts at each time or after it.

    Of several that start at once it is the one with the earliest captured launch call.
    """
    candidates = [_first_starts(operations, times) for operations in kinds]
    first = np.min([starts for starts, _, _ in candidates], axis=0)
    is_first = [starts[places] == first[places] for starts, places, _ in candidates]
    asked = np.concatenate([places[keep] for (_, places, _), keep in zip(candidates, is_first, strict=True)])
    rows = np.concatenate([one[keep] for (_, _, one), keep in zip(candidates, is_first, strict=True)])
    found = launch_calls(np.append(rows, NOT_CAPTURED), launches)
    calls = found.at(np.arange(len(rows)))
    chosen = np.full(len(times), len(rows), np.int64)
    latest_first = np.lexsort((calls.threads, calls.ends, calls.starts))[::-1]
    chosen[asked[latest_first]] = latest_first
    return found.at(chosen)


def launch_calls(rows: Int64s, launches: Launches | None) -> Launched:
    """Look up launch calls by their rows."""
    known = rows >= 0
    starts, ends, threads = (np.full(len(rows), fill, np.int64) for fill in (_LATEST, _LATEST, NO_THREAD))
    if launches is not None:
        found = rows[known]
        starts[known], ends[known] = launches.starts[found], launches.ends[found]
        threads[known] = launches.threads[found]
    return Launched(starts, ends, threads, known)


def charge_idle(parts: IdleParts, *, hole_ends: Launched, host: HostTime, opened: Int64s) -> Int64s:
    """Return each idle stretch's time by cause; shape (causes, n), ns.

    Args:
        parts: the idle stretches.
        hole_ends: launch call of what ends each hole.
        host: what the process's threads did.
        opened: shape (holes,); since when untraced graphs may run in it, the largest int64 where none does.
    """
    phases = _phases(parts, hole_ends=hole_ends, opened=opened)
    returned, ends, own = phases.returned, phases.ends, parts.launched
    shares = np.zeros((len(CAUSES), len(ends)), np.int64)
    shares[PLACE[Cause.GRAPH_UNKNOWN]] = parts.ends - ends
    for begin, end, call in phases.late:
        explained = host.explained(begin, end, threads=call.threads, anchors=call.starts)
        explained[PLACE[Cause.HOST_CODE]] += end - begin - explained.sum(axis=0)
        shares += explained
    rest = ends - returned
    shares[PLACE[Cause.DEVICE_WAIT]] += np.where(phases.is_held_up, rest, 0)
    shares[PLACE[Cause.LAUNCH_BOUND]] += np.where(own.is_known & ~phases.is_held_up, rest, 0)
    # Without a launch call there is no thread to ask; what the profiler did is told whatever the thread.
    end = np.where(own.is_known, returned, ends)
    explained = host.explained(returned, end, threads=np.full_like(end, NO_THREAD), anchors=end)
    explained[PLACE[Cause.UNKNOWN]] += end - returned - explained.sum(axis=0)
    return shares + explained


def host_times(
    cause: Cause, parts: IdleParts, *, hole_ends: Launched, host: HostTime, opened: Int64s
) -> dict[int, Intervals]:
    """Return when which thread did what `charge_idle` charges to a cause of the host; threads without time left out.

    Arguments are those of `charge_idle`.
    """
    phases = _phases(parts, hole_ends=hole_ends, opened=opened)
    asked = None if cause is Cause.HOST_CODE else cause
    found = [
        one
        for begin, end, call in phases.late
        for one in host.times_of(asked, begin, end, threads=call.threads, anchors=call.starts)
    ]
    if cause is Cause.LAUNCH_BOUND:
        own = parts.launched
        is_latency = own.is_known & ~phases.is_held_up
        for thread in np.unique(own.threads[is_latency]).tolist():
            rows = is_latency & (own.threads == thread)
            found.append((thread, union(phases.returned[rows], phases.ends[rows])))
    threads = sorted({thread for thread, time in found if len(time)})
    return {thread: merge(*(time for one, time in found if one == thread)) for thread in threads}


def longest_wait(parts: IdleParts, *, hole_ends: Launched, opened: Int64s) -> Launched:
    """Return the launch call of the operation that was held up on the device for longest; shape (1,) or (0,)."""
    phases = _phases(parts, hole_ends=hole_ends, opened=opened)
    waits = np.where(phases.is_held_up, phases.ends - phases.returned, 0)
    return parts.launched.at(np.argsort(-waits, kind="stable")[:1])


@dataclass(frozen=True, slots=True, eq=False)
class _Phases:
    """What idle stretches waited for, one after the other; each array has shape (n,).

    Attributes:
        late: begin and end of a phase in which the host was late, and the call that ended it.
        returned: when the last of them ended, ns.
        ends: end of the stretch, or since when untraced graphs may run; ns.
        is_held_up: whether the device waited from `returned` on.
    """

    late: tuple[tuple[Int64s, Int64s, Launched], ...]
    returned: Int64s
    ends: Int64s
    is_held_up: Bools


def _phases(parts: IdleParts, *, hole_ends: Launched, opened: Int64s) -> _Phases:
    """Split the idle stretches; arguments are those of `charge_idle`."""
    starts = parts.starts
    ends = np.maximum(starts, np.minimum(parts.ends, opened[parts.holes]))
    final, own = hole_ends.at(parts.holes), parts.launched
    # As long as the end of the hole is not launched, its thread is what the hole waits for.
    turned = np.where(final.is_known, np.clip(final.starts, starts, ends), starts)
    began = np.where(own.is_known, np.clip(own.starts, turned, ends), turned)
    returned = np.where(own.is_known, np.clip(own.ends, began, ends), turned)
    return _Phases(
        late=((starts, turned, final), (turned, began, own), (began, returned, own)),
        returned=returned,
        ends=ends,
        is_held_up=own.is_known & (ends - np.minimum(own.ends, ends) > LAUNCH_LATENCY_NS),
    )


def _first_starts(operations: Operations, times: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Return when the first operation at or after each time starts, and all that start then.

    Returns:
        Three arrays: the start for each time (the largest int64 where there is none), shape (times,); the place of a
        time and the row of the launch call of an operation that starts first after it, shape (pairs,).
    """
    lasting = operations.ends > operations.starts
    calls, starts = operations.calls, operations.starts
    if not lasting.all():
        calls, starts = calls[lasting], starts[lasting]
    if (starts[1:] < starts[:-1]).any():
        order = np.argsort(starts, kind="stable")
        calls, starts = calls[order], starts[order]
    left = np.searchsorted(starts, times, side="left")
    first = np.append(starts, _LATEST)[left]
    right = np.searchsorted(starts, first, side="right")
    counts = np.maximum(right - left, 0)
    places = np.repeat(np.arange(len(times)), counts)
    offsets = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
    return first, places, calls[left[places] + offsets]
