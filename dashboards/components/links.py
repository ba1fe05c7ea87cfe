"""Links into the timeline: moments of a lane's own clock become moments since the profile's origin."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from dash import no_update

from dashboards.ids import timeline_address

if TYPE_CHECKING:
    from dashboards.data.opening import OpenProfile
    from gapfinder.explanations import Cause
    from gapfinder.model import Hole

_MARGIN = 0.5
_SHORTEST_MARGIN_NS = 50_000


def stretch_address(profile: OpenProfile, *, lane: int, start_ns: int, end_ns: int, hole: int | None = None) -> str:
    """Return where a stretch of a lane's own time is on the timeline, with something of what is around it."""
    trace = profile.trace
    clock = trace.lanes[lane].clock
    margin = max(round(_MARGIN * (end_ns - start_ns)), _SHORTEST_MARGIN_NS)
    start = max(clock.shared(start_ns) - trace.origin_ns - margin, 0)
    end = max(min(clock.shared(end_ns) - trace.origin_ns + margin, trace.end_ns), start + 1)
    return timeline_address(profile.stored.id, start=start, end=end, lane=lane, hole=hole)


def clicked(click: object) -> object:
    """Return where a click on a figure leads: to the `customdata` of its mark, where that is a profile's address."""
    match click:
        case {"points": [{"customdata": str(target)}, *_]} if target.startswith("/p/"):
            return target
    return no_update


def hole_address(profile: OpenProfile, *, lane: int, hole: Hole) -> str:
    """Return where a hole is on the timeline, chosen there where the trace has it."""
    starts = profile.trace.lanes[lane].holes.starts
    place = int(np.searchsorted(starts, hole.start_ns))
    is_there = place < len(starts) and int(starts[place]) == hole.start_ns
    return stretch_address(
        profile, lane=lane, start_ns=hole.start_ns, end_ns=hole.end_ns, hole=place if is_there else None
    )


def longest_hole(profile: OpenProfile, *causes: Cause, lane: int | None = None) -> tuple[int, Hole] | None:
    """Return (lane, hole) of the longest hole that is kept in full; of these causes and lane where any is given."""
    holes = [
        (index, hole)
        for index, one in profile.analysis.measured_lanes().items()
        if lane in (None, index)
        for hole in one.holes.top
        if not causes or hole.cause in causes
    ]
    return min(holes, key=lambda item: (-item[1].duration_ns, item[0], item[1].start_ns), default=None)
