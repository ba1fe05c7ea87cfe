"""Sums up how a lane's process drove its GPU: launches, waits, allocations, pageable copies, time lost on the host."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.copies import DEVICE_TO_HOST, HOST_TO_DEVICE, pageable_copies
from gapfinder.analysis.host_events import HostEvents
from gapfinder.analysis.intervals import Intervals, Measure, clip
from gapfinder.explanations import Cause, HostActivity

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from gapfinder.analysis.host_time import HostTime
    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.lanes import LaneOperations, Operations
    from gapfinder.analysis.launches import Launches
    from gapfinder.analysis.stretches import CountedCalls, Stretch
    from gapfinder.analysis.timeline import HoleParts
    from gapfinder.budget import Window


_NOTHING = np.empty(0, np.int64)
_NONE = HostEvents(_NOTHING, _NOTHING, _NOTHING, _NOTHING, ())


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class ActivitySources:
    """What one lane's host activity is summed from.

    Attributes:
        lane: its operations.
        copies: the rows of COPIES that its copies were made from.
        launches: CUDA calls of its process; None where none was captured.
        host: what the threads of its process did.
        holes: its holes.
        stretch: what is measured of it here.
        counted: launch calls of the lane that are counted already, where it is measured in several stretches.
        steady_from: end of its process's first step on the host, in ns; None without steps.
    """

    lane: LaneOperations
    copies: pd.DataFrame
    launches: Launches | None
    host: HostTime
    holes: HoleParts
    stretch: Stretch
    counted: CountedCalls | None
    steady_from: int | None


def host_activity(sources: ActivitySources) -> HostActivity:
    """Return the sums; without steps what is counted after the first one is counted in the whole window."""
    lane, host, window, inside = sources.lane, sources.host, sources.stretch.window, sources.stretch.inside
    own = sources.stretch.begun_in
    launched = (lane.compute, lane.communication.only_kernels(), lane.graphs)
    rows = [_rows(operations, sources.stretch) for operations in launched]
    calls, launch_time = _launch_calls(rows, sources.launches, counted=sources.counted)
    start = max(window.start_ns, sources.steady_from or window.start_ns)
    allocator = host.calls.get(Cause.ALLOCATOR, _NONE).beginning_in(
        max(start, own.start_ns), min(window.end_ns, own.end_ns)
    )
    waits = host.calls.get(Cause.SYNCHRONISATION, _NONE).beginning_in(window.start_ns, window.end_ns)
    starts, ends, sizes, kinds = (sources.copies[name].to_numpy() for name in ("start", "end", "bytes", "kind"))
    is_inside = (starts < window.end_ns) & (ends > window.start_ns)
    is_inside &= (starts >= own.start_ns) & (starts < own.end_ns)
    is_pageable = pageable_copies(sources.copies) & is_inside & (kinds == HOST_TO_DEVICE)
    is_offload = is_inside & (kinds == DEVICE_TO_HOST) & (starts >= start)
    return HostActivity(
        launches=calls,
        launch_ns=launch_time,
        launched_ns=sum(_length(operations, inside) for operations in launched),
        sync_calls=_waits(waits, sources.holes, own=own),
        allocator_calls=len(allocator),
        allocator_ns=int((allocator.ends - allocator.starts).sum()),
        pageable_copies=int(is_pageable.sum()),
        pageable_ns=int((ends - starts)[is_pageable].sum()),
        offload_bytes=int(sizes[is_offload].sum()),
        gc_ns=_covered(host.ranges.get(Cause.GARBAGE_COLLECTION, _NONE), inside),
        checkpoint_ns=_covered(host.ranges.get(Cause.CHECKPOINT, _NONE), inside),
        overhead_ns=_covered(host.overheads.get(Cause.PROFILER_OVERHEAD, _NONE), inside),
        unlaunched_ops=sum(int((found < 0).sum()) for found in (*rows, _rows(lane.copies, sources.stretch))),
    )


def _rows(operations: Operations, stretch: Stretch) -> Int64s:
    """Return the launch call's row of the operations that are counted here, -1 where it was not captured."""
    window = stretch.window
    inside = (operations.starts < window.end_ns) & (operations.ends > window.start_ns)
    inside &= operations.begin_in(stretch.begun_in)
    return operations.calls if inside.all() else operations.calls[inside]


def _launch_calls(rows: list[Int64s], launches: Launches | None, *, counted: CountedCalls | None) -> tuple[int, int]:
    """Return how many calls launched them, and their summed length: a graph's kernels share one call."""
    if launches is None:
        return 0, 0
    used = np.zeros(len(launches.starts) + 1, np.bool_)  # the last place takes those without a call
    for one in rows:
        used[one] = True
    used = used[:-1]
    if counted is not None:
        places = np.flatnonzero(used)
        used[places] = counted.first_time(launches.numbers_of(places))
    return int(used.sum()), int((launches.ends - launches.starts)[used].sum())


def _length(operations: Operations, window: Window) -> int:
    """Return the summed length of the operations inside the window."""
    lengths = np.minimum(operations.ends, window.end_ns) - np.maximum(operations.starts, window.start_ns)
    return int(np.maximum(lengths, 0).sum())


def joined_activity(parts: Sequence[HostActivity]) -> HostActivity:
    """Return the sums over all stretches of a lane."""
    sums = {
        field.name: sum(getattr(part, field.name) for part in parts)
        for field in fields(HostActivity)
        if field.name != "sync_calls"
    }
    waits: dict[str, tuple[int, int]] = {}
    for part in parts:
        for name, (count, time) in part.sync_calls.items():
            counts, times = waits.get(name, (0, 0))
            waits[name] = counts + count, times + time
    return HostActivity(sync_calls=dict(sorted(waits.items())), **sums)


def _waits(events: HostEvents, holes: HoleParts, *, own: Window) -> dict[str, tuple[int, int]]:
    """Return count of those that begin here, and time inside holes, by the calls' name."""
    is_own = (events.starts >= own.start_ns) & (events.starts < own.end_ns)
    inside = Measure(Intervals(holes.starts, holes.ends)).within(events.starts, np.maximum(events.starts, events.ends))
    found = {}
    for code in np.unique(events.names).tolist():
        mine = events.names == code
        found[events.texts[code]] = (int((mine & is_own).sum()), int(inside[mine].sum()))
    return found


def _covered(events: HostEvents, window: Window) -> int:
    """Return how long at least one of the events lasts inside the window."""
    return clip(events.covered(), window=window).total
