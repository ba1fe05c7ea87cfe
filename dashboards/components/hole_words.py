"""What is said about holes on the timeline: one hole, the holes of a stretch, and what a lane is called."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.errors import visible
from gapfinder.findings.words import lane_name, lane_names
from gapfinder.render.words import cause_words
from gapfinder.units import format_bandwidth, format_bytes, format_count, format_duration, format_time

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboards.data.detail_values import HoleDetails, OperationDetails, SeenCollective, StepAt
    from dashboards.data.walking import FoundHole, HolesOfStretch
    from gapfinder.model import Analysis


def lane_detail(analysis: Analysis, index: int) -> str:
    """Return what a lane is beside its name ("GPU 0, NVIDIA H100, process 4711")."""
    lane = analysis.lanes[index]
    parts = (f"GPU {lane.device}", visible(lane.gpu_name or ""), f"process {lane.pid}")
    return ", ".join(filter(None, parts))


def hole_sentence(analysis: Analysis, found: FoundHole, *, late_lane: int | None = None) -> str:
    """Return one hole in words ("rank 3, at 1.200000 s: 38.00 ms hole, exposed communication wait for rank 5")."""
    why = hole_cause(analysis, found, late_lane=late_lane)
    where = f"{lane_name(analysis, found.lane)}, at {format_time(found.start_ns)}"
    return f"{where}: {format_duration(found.length_ns)} hole, {why}"


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


def hole_place(analysis: Analysis, hole: HoleDetails) -> str:
    """Return where a hole is ("rank 3, step 12, at 1.200000 s")."""
    return _place(analysis, hole.lane, hole.step, hole.start_ns)


def mark_place(analysis: Analysis, mark: OperationDetails) -> str:
    """Return where an operation, a range or a call is, and on which stream or thread."""
    parts = [_place(analysis, mark.lane, mark.step, mark.time.start_ns), mark.row.value]
    parts += [] if mark.stream is None else [f"stream {mark.stream}"]
    parts += [] if mark.thread is None or mark.launch is not None else [f"thread {mark.thread}"]
    parts += [f"domain {mark.domain}"] if mark.domain else []
    return ", ".join(parts)


def _place(analysis: Analysis, lane: int, step: StepAt | None, start_ns: int) -> str:
    parts = (lane_name(analysis, lane), "" if step is None else step.name, f"at {format_time(start_ns)}")
    return ", ".join(filter(None, parts))


def share_rows(hole: HoleDetails) -> list[tuple[str, int]]:
    """Return the parts of a hole that add up to it, without those of no length."""
    parts = (
        ("nothing", hole.idle_ns),
        ("exposed communication", hole.exposed_ns),
        ("copies only", hole.copy_only_ns),
    )
    return [(words, ns) for words, ns in parts if ns]


def collective_rows(seen: SeenCollective) -> list[tuple[str, str]]:
    """Return what is known of a collective as (what, how much), without what is not."""
    durations = (
        ("length", seen.duration_ns),
        ("waited for others", seen.wait_ns),
        ("transfer", seen.transfer_ns),
        ("hidden behind compute", seen.hidden_ns),
        ("exposed", seen.exposed_ns),
    )
    rows = [(words, format_duration(ns)) for words, ns in durations if ns is not None]
    rows += [("ranks", format_count(seen.ranks))]
    rows += [] if seen.size_bytes is None else [("size", format_bytes(seen.size_bytes))]
    rows += [] if seen.bus_bandwidth is None else [("bus bandwidth", format_bandwidth(seen.bus_bandwidth))]
    return rows
