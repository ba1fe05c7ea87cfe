"""What is said about holes on the timeline: one hole, the holes of a stretch, and what a lane is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.errors import visible
from gapfinder.findings.words import lane_name, lane_names
from gapfinder.render.words import cause_words
from gapfinder.units import format_count, format_duration, format_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboards.data.walking import FoundHole, HolesOfStretch
    from gapfinder.model import Analysis


def lane_detail(analysis: Analysis, index: int) -> str:
    """Return what a lane is beside its name ("GPU 0, NVIDIA H100, process 4711")."""
    lane = analysis.lanes[index]
    parts = (f"GPU {lane.device}", visible(lane.gpu_name or ""), f"process {lane.pid}")
    return ", ".join(filter(None, parts))


def hole_sentence(analysis: Analysis, found: FoundHole, *, late_lane: int | None = None) -> str:
    """Return one hole in words ("rank 3, at 1.200000 s: 38.00 ms blank, exposed communication wait for rank 5")."""
    why = hole_cause(analysis, found, late_lane=late_lane)
    where = f"{lane_name(analysis, found.lane)}, at {format_time(found.start_ns)}"
    return f"{where}: {format_duration(found.length_ns)} blank, {why}"


def hole_cause(analysis: Analysis, found: FoundHole, *, late_lane: int | None = None) -> str:
    """Return its cause, and for whom it waited where that is known and another lane."""
    waited = late_lane is not None and late_lane != found.lane
    return cause_words(found.cause) + (
        f" for {lane_name(analysis, late_lane)}" if waited and late_lane is not None else ""
    )


def stretch_sentence(
    analysis: Analysis, stretch: tuple[int, int], *, lanes: Sequence[int], holes: HolesOfStretch, longest: str
) -> str:
    """Return a stretch in words ("rank 3, 1.200000 s to 1.900000 s: 14 holes, the longest 38.00 ms …")."""
    start, end = stretch
    where = f"{lane_names(analysis, lanes)}, {format_time(start)} to {format_time(end)}"
    if not holes.count:
        return f"{where}: no holes"
    count = format_count(holes.count, "hole")
    sums = "" if holes.count == 1 else f" of {format_duration(holes.total_ns)} together"
    return f"{where}: {count}{sums}, the longest {longest}"
