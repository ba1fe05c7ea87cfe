"""Sums up how a lane's process drove its GPU: launches, waits, allocations, pageable copies, time lost on the host."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.copies import DEVICE_TO_HOST, pageable_copies
from gapfinder.analysis.host_events import HostEvents
from gapfinder.analysis.intervals import Intervals, Measure, clip
from gapfinder.explanations import Cause, HostActivity

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from gapfinder.analysis.host_time import HostTime
    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.lanes import LaneOperations, Operations
    from gapfinder.analysis.launches import Launches
    from gapfinder.analysis.timeline import HoleParts
    from gapfinder.budget import Window

    Bools = NDArray[np.bool_]

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
        window: what is measured of it.
        steady_from: end of its process's first step on the host, in ns; None without steps.
    """

    lane: LaneOperations
    copies: pd.DataFrame
    launches: Launches | None
    host: HostTime
    holes: HoleParts
    window: Window
    steady_from: int | None


def host_activity(sources: ActivitySources) -> HostActivity:
    """Return the sums; without steps what is counted after the first one is counted in the whole window."""
    lane, host, window = sources.lane, sources.host, sources.window
    kernels = (lane.compute, lane.communication.only_kernels(), lane.graphs)
    rows = [_rows(operations, window) for operations in kernels]
    calls, launch_time = _launch_calls(rows, sources.launches)
    start = max(window.start_ns, sources.steady_from or window.start_ns)
    allocator = host.calls.get(Cause.ALLOCATOR, _NONE).beginning_in(start, window.end_ns)
    waits = host.calls.get(Cause.SYNCHRONISATION, _NONE).beginning_in(window.start_ns, window.end_ns)
    starts, ends, sizes, kinds = (sources.copies[name].to_numpy() for name in ("start", "end", "bytes", "kind"))
    is_inside = (starts < window.end_ns) & (ends > window.start_ns)
    is_pageable = pageable_copies(sources.copies) & is_inside
    is_offload = is_inside & (kinds == DEVICE_TO_HOST) & (starts >= start)
    return HostActivity(
        launches=calls,
        launch_ns=launch_time,
        kernel_ns=sum(_length(operations, window) for operations in kernels[:2]),
        sync_calls=_waits(waits, sources.holes),
        allocator_calls=len(allocator),
        allocator_ns=int((allocator.ends - allocator.starts).sum()),
        pageable_copies=int(is_pageable.sum()),
        pageable_ns=int((ends - starts)[is_pageable].sum()),
        offload_bytes=int(sizes[is_offload].sum()),
        gc_ns=_covered(host.ranges.get(Cause.GARBAGE_COLLECTION, _NONE), window),
        checkpoint_ns=_covered(host.ranges.get(Cause.CHECKPOINT, _NONE), window),
        overhead_ns=_covered(host.overheads.get(Cause.PROFILER_OVERHEAD, _NONE), window),
        unlaunched_ops=sum(int((found < 0).sum()) for found in (*rows, _rows(lane.copies, window))),
    )


def _rows(operations: Operations, window: Window) -> Int64s:
    """Return the launch call's row of the operations that have a part in the window, -1 where it was not captured."""
    inside = (operations.starts < window.end_ns) & (operations.ends > window.start_ns)
    return operations.calls if inside.all() else operations.calls[inside]


def _launch_calls(rows: list[Int64s], launches: Launches | None) -> tuple[int, int]:
    """Return how many calls launched them, and their summed length: a graph's kernels share one call."""
    if launches is None:
        return 0, 0
    used = np.zeros(len(launches.starts) + 1, np.bool_)  # the last place takes those without a call
    for one in rows:
        used[one] = True
    used = used[:-1]
    return int(used.sum()), int((launches.ends - launches.starts)[used].sum())


def _length(operations: Operations, window: Window) -> int:
    """Return the summed length of the operations inside the window."""
    lengths = np.minimum(operations.ends, window.end_ns) - np.maximum(operations.starts, window.start_ns)
    return int(np.maximum(lengths, 0).sum())


def _waits(events: HostEvents, holes: HoleParts) -> dict[str, tuple[int, int]]:
    """Return count and time inside holes by the calls' name."""
    inside = Measure(Intervals(holes.starts, holes.ends)).within(events.starts, np.maximum(events.starts, events.ends))
    found = {}
    for code in np.unique(events.names).tolist():
        mine = events.names == code
        found[events.texts[code]] = (int(mine.sum()), int(inside[mine].sum()))
    return found


def _covered(events: HostEvents, window: Window) -> int:
    """Return how long at least one of the events lasts inside the window."""
    return clip(events.covered(), window=window).total
