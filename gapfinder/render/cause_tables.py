"""The tables that say why: hole time by cause, collectives, stragglers."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gapfinder.findings.words import lane_name
from gapfinder.render.lane_tables import shown_lanes
from gapfinder.render.table import NOTHING, Column, Kind, Table, filled, left_out
from gapfinder.render.words import UNKNOWN, cause_words
from gapfinder.units import (
    format_bandwidth,
    format_bytes,
    format_count,
    format_duration,
    format_mean_count,
    format_share,
    format_times,
)

if TYPE_CHECKING:
    from gapfinder.explanations import Cause, CollectiveSummary
    from gapfinder.model import Analysis, Lane
    from gapfinder.stragglers import Straggler

_CAUSES = 6
_OFTEN = 0.5


def causes_shown(analysis: Analysis, *, limit: int) -> list[Cause]:
    """Return the causes with most hole time over all measured lanes, at most `limit`, most first."""
    sums: Counter[Cause] = Counter()
    for lane in analysis.measured_lanes().values():
        sums.update(lane.causes)
    return sorted((cause for cause in sums if sums[cause]), key=lambda cause: (-sums[cause], cause))[:limit]


def cause_table(analysis: Analysis, *, limit: int) -> Table | None:
    """Return hole time by cause, one row per lane; None where there are no holes."""
    causes = causes_shown(analysis, limit=_CAUSES)
    indices = [index for index in shown_lanes(analysis, limit=limit) if analysis.lanes[index].is_idle_known]
    if not causes or not indices:
        return None
    has_others = len(causes_shown(analysis, limit=_CAUSES + 1)) > _CAUSES
    return Table(
        title="Why the holes are there",
        caption="Hole time by cause, as shares of the window."
        + left_out(len(indices), len(analysis.lanes), "lane", "those that compute least"),
        columns=(
            Column("lane", Kind.WORD),
            Column("in holes"),
            *(Column(cause_words(cause)) for cause in causes),
            *((Column("others"),) if has_others else ()),
        ),
        rows=tuple(_cause_row(analysis, index, causes, has_others=has_others) for index in indices),
    )


def _cause_row(analysis: Analysis, index: int, causes: list[Cause], *, has_others: bool) -> tuple[str, ...]:
    lane = analysis.lanes[index]
    times = [lane.causes.get(cause, 0) for cause in causes]
    others = [lane.holes.total_ns - sum(times)] if has_others else []
    shares = (ns / lane.budget.window_ns for ns in (lane.holes.total_ns, *times, *others))
    return (lane_name(analysis, index), *(format_share(share) for share in shares))


def collective_table(analysis: Analysis, *, limit: int) -> Table | None:
    """Return one row per operation and communicator, the most exposed first, without columns that nothing fills."""
    shown = sorted(analysis.collectives, key=lambda one: (-one.exposed_ns, one.operation, one.communicator))[:limit]
    if not shown:
        return None
    rows = [_collective_cells(analysis, one) for one in shown]
    columns = (
        Column("operation", Kind.LABEL),
        Column("group", Kind.LABEL),
        *(Column(name) for name in ("n", "a step", "exposed", "hidden", "wait", "transfer")),
        *(Column(name) for name in ("mean size", "bus bandwidth", "of ideal")),
        Column("mostly last", Kind.WORD),
    )
    caption = "Times are summed over lanes; hidden is a share of exposed and hidden. Wait is what a lane had to wait"
    return filled(
        Table(
            title="Collectives",
            caption=f"{caption} for the last one.{_unmatched(analysis)}{_ideals(analysis)}{_buckets(analysis)}"
            + left_out(len(shown), len(analysis.collectives), "kind", "the most exposed"),
            columns=columns,
            rows=tuple(rows),
        )
    )


def _collective_cells(analysis: Analysis, one: CollectiveSummary) -> tuple[str, ...]:
    """Return the cells of every column that there can be."""
    several = len({other.communicator for other in analysis.collectives}) > 1
    both = one.hidden_ns + one.exposed_ns
    mean = None if one.bytes_total is None else one.bytes_total // max(one.instances, 1)
    late = NOTHING
    if one.late_lane is not None and one.late_share is not None and one.late_share > _OFTEN:
        late = lane_name(analysis, one.late_lane)
    return (
        one.operation,
        one.communicator if several else NOTHING,
        format_count(one.instances) if one.per_step is None else NOTHING,
        NOTHING if one.per_step is None else format_mean_count(one.per_step),
        format_duration(one.exposed_ns),
        format_share(one.hidden_ns / both) if both else NOTHING,
        *(NOTHING if ns is None else format_duration(ns) for ns in (one.wait_ns, one.transfer_ns)),
        NOTHING if mean is None else format_bytes(mean),
        NOTHING if one.bus_bandwidth is None else format_bandwidth(one.bus_bandwidth),
        NOTHING if one.ideal_share is None else format_share(one.ideal_share),
        late,
    )


def _unmatched(analysis: Analysis) -> str:
    unmatched = sum(one.unmatched for one in analysis.collectives)
    return f" {format_count(unmatched, 'operation')} found no partner on other lanes." if unmatched else ""


def _ideals(analysis: Analysis) -> str:
    """Return what ideal times rest on, where there are any, and that a given link was of no use where it was not."""
    link = analysis.link
    if link is None:
        return ""
    if all(one.ideal_share is None for one in analysis.collectives):
        is_given = link.bandwidth is not None and not link.is_detected
        return " The bandwidth given for the link changes nothing: no sizes were captured." if is_given else ""
    return f" Ideal times are those of the link: {link.reason}."


def _buckets(analysis: Analysis) -> str:
    """Return how gradient synchronisation lies to backward, on the lane where most of it comes after."""
    if not analysis.buckets:
        return ""
    worst = max(analysis.buckets, key=lambda one: one.after_backward_ns)
    begun = min(worst.start_into_backward, 1.0)
    return (
        f" On {lane_name(analysis, worst.lane)} gradient synchronisation ({format_mean_count(worst.per_step)} a step) "
        f"starts when {format_share(begun)} of backward is over, and {format_duration(worst.after_backward_ns)} run "
        "after it."
    )


def straggler_table(analysis: Analysis) -> Table | None:
    """Return the lanes that are slow in most steps; None where there are none."""
    if not analysis.stragglers:
        return None
    table = Table(
        title="Stragglers",
        caption="Lanes that are 20 % over the median in most steps, compared with the median lane.",
        columns=(
            Column("lane", Kind.WORD),
            *(Column(name) for name in ("slow steps", "compute", "clock", "launches later by", "data loading")),
            Column("what differs", Kind.WORD),
            Column("others waited"),
        ),
        rows=tuple(_straggler_row(analysis, one) for one in analysis.stragglers),
    )
    return filled(table)


def _straggler_row(analysis: Analysis, one: Straggler) -> tuple[str, ...]:
    slow, steps = one.steps
    return (
        lane_name(analysis, one.lane),
        f"{format_count(slow)} of {format_count(steps)}",
        format_times(one.compute_ratio),
        NOTHING if one.clock_ratio is None else format_times(one.clock_ratio),
        format_duration(one.launch_delay_ns),
        UNKNOWN if one.data_ratio is None else format_times(one.data_ratio),
        one.what_differs,
        format_duration(one.lost_ns),
    )


def shares_of_holes(lane: Lane, causes: list[Cause]) -> list[tuple[Cause | None, int]]:
    """Return a lane's hole time by each of `causes`, and what is left under None; nothing that is 0."""
    parts: list[tuple[Cause | None, int]] = [(cause, lane.causes.get(cause, 0)) for cause in causes]
    parts.append((None, lane.holes.total_ns - sum(ns for _, ns in parts)))
    return [(cause, ns) for cause, ns in parts if ns]
