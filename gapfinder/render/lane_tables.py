"""The tables about lanes and their steps that every report shares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.findings.words import lane_name
from gapfinder.render.parts import is_known, parts
from gapfinder.render.table import Column, Kind, Table, left_out
from gapfinder.render.words import UNKNOWN, computing, worst_lane
from gapfinder.units import format_count, format_duration, format_share, format_time

if TYPE_CHECKING:
    from gapfinder.model import Analysis, Lane, Step


def shown_lanes(analysis: Analysis, *, limit: int) -> list[int]:
    """Return the worst lane and those that compute least, at most `limit`, in their order."""
    worst = worst_lane(analysis)
    order = sorted(
        range(len(analysis.lanes)), key=lambda index: (index != worst, computing(analysis.lanes[index].budget), index)
    )
    return sorted(order[:limit])


def shown_steps(lane: Lane, *, limit: int) -> list[Step]:
    """Return a lane's longest steps, at most `limit`, in order of time."""
    steps = lane.steps.items if lane.steps else ()
    longest = sorted(steps, key=lambda step: (-step.window.duration_ns, step.window.start_ns))[:limit]
    return sorted(longest, key=lambda step: (step.window.start_ns, step.number))


def lane_table(analysis: Analysis, *, limit: int) -> Table:
    """Return one row per lane: who it is and where its window went, as shares."""
    indices = shown_lanes(analysis, limit=limit)
    min_gap = format_duration(analysis.lanes[0].gaps.min_gap_ns)
    has_files = len({lane.file for lane in analysis.lanes}) > 1
    caption = f"Shares of the window; compute only to idle add up to it. A gap is idle for {min_gap} or more."
    return Table(
        title="Lanes",
        caption=caption + left_out(len(indices), len(analysis.lanes), "lane", "those that compute least"),
        columns=(
            Column("lane", Kind.WORD),
            Column("pid:GPU", Kind.WORD),
            *((Column("report", Kind.LABEL),) if has_files else ()),
            Column("window"),
            *(Column(part.label) for part in parts(analysis)),
            Column("overlap"),
            Column("gaps"),
            Column("longest gap"),
        ),
        rows=tuple(_lane_row(analysis, index, has_files=has_files) for index in indices),
    )


def _lane_row(analysis: Analysis, index: int, *, has_files: bool) -> tuple[str, ...]:
    lane = analysis.lanes[index]
    window_ns = lane.budget.window_ns
    shares = (
        format_share(part.measure(lane.budget) / window_ns) if is_known(lane, part) else UNKNOWN
        for part in parts(analysis)
    )
    gaps = (format_count(lane.gaps.count), format_duration(lane.gaps.longest_ns))
    return (
        lane_name(analysis, index),
        f"{lane.pid}:{lane.device}",
        *((lane.file,) if has_files else ()),
        format_duration(window_ns),
        *shares,
        _overlap(lane.overlap_ratio, nothing_to_hide=_communicates_nowhere(analysis, lane)),
        *(gaps if lane.is_idle_known else (UNKNOWN, UNKNOWN)),
    )


def _communicates_nowhere(analysis: Analysis, lane: Lane) -> bool:
    """Say whether there certainly was no communication: none seen, and no graph it could sit in."""
    return not lane.budget.communication_ns and not analysis.coverage.graphs and lane.is_idle_known


def _overlap(ratio: float | None, *, nothing_to_hide: bool) -> str:
    if ratio is None:
        return "none" if nothing_to_hide else UNKNOWN
    return format_share(ratio)


def step_table(analysis: Analysis, *, limit: int) -> Table | None:
    """Return one row per lane with steps: their statistics and the mean step's parts."""
    indices = [index for index in shown_lanes(analysis, limit=limit) if analysis.lanes[index].steps]
    if not indices:
        return None
    total = sum(lane.steps is not None for lane in analysis.lanes)
    caption = "Complete steps, and how many were left out (warm-up, cut, not asked for); then where the mean step went."
    return Table(
        title="Steps",
        caption=caption + left_out(len(indices), total, "lane", "those that compute least"),
        columns=(
            Column("lane", Kind.WORD),
            *(Column(header) for header in ("n", "left out", "mean", "p50", "p99")),
            *(Column(part.label) for part in parts(analysis)),
        ),
        rows=tuple(_step_statistics(analysis, index) for index in indices),
    )


def _step_statistics(analysis: Analysis, index: int) -> tuple[str, ...]:
    lane = analysis.lanes[index]
    steps = lane.steps
    if steps is None:
        return ()
    means = (
        format_duration(part.measure(steps.total) // max(steps.count, 1)) if is_known(lane, part) else UNKNOWN
        for part in parts(analysis)
    )
    return (
        lane_name(analysis, index),
        format_count(steps.count),
        format_count(steps.dropped),
        *(format_duration(ns) for ns in (steps.mean_ns, steps.p50_ns, steps.p99_ns)),
        *means,
    )


def longest_steps(analysis: Analysis, *, limit: int) -> Table | None:
    """Return the longest steps of the worst lane that has steps."""
    candidates = [index for index, lane in enumerate(analysis.lanes) if lane.steps and lane.steps.items]
    if not candidates:
        return None
    worst = worst_lane(analysis)
    index = worst if worst in candidates else candidates[0]
    return lane_steps(analysis, index, limit=limit)


def lane_steps(analysis: Analysis, index: int, *, limit: int) -> Table:
    """Return one lane's steps, the longest ones if there are more than `limit`, in order of time."""
    lane = analysis.lanes[index]
    shown = shown_steps(lane, limit=limit)
    total = lane.steps.count if lane.steps else 0
    return Table(
        title=f"Steps of {lane_name(analysis, index)}",
        caption=f"Where each step went.{left_out(len(shown), total, 'step', 'the longest')}",
        columns=(
            Column("step", Kind.LABEL),
            Column("start"),
            Column("length"),
            *(Column(part.label) for part in parts(analysis)),
            Column("overlap"),
        ),
        rows=tuple(_step_row(analysis, lane, step) for step in shown),
    )


def _step_row(analysis: Analysis, lane: Lane, step: Step) -> tuple[str, ...]:
    return (
        step.name,
        format_time(step.window.start_ns),
        format_duration(step.window.duration_ns),
        *(format_duration(part.measure(step.budget)) if is_known(lane, part) else UNKNOWN for part in parts(analysis)),
        _overlap(step.overlap_ratio, nothing_to_hide=_communicates_nowhere(analysis, lane)),
    )
