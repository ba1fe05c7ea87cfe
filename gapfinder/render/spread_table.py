"""The table of the steps in which lanes differ most."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.findings.words import lane_name
from gapfinder.render.table import Column, Kind, Table, left_out
from gapfinder.units import format_count, format_duration, format_share

if TYPE_CHECKING:
    from gapfinder.model import Analysis
    from gapfinder.stragglers import StepSpread


def spread_table(analysis: Analysis, *, limit: int) -> Table | None:
    """Return the steps in which the slowest lane is furthest over the median, in order of number; None without any."""
    spreads = analysis.step_spreads
    shown = sorted(spreads, key=lambda one: (one.median_own_ns - one.slowest_own_ns, one.number))[:limit]
    if not shown:
        return None
    return Table(
        title="Steps over lanes",
        caption="Own time is a lane's step without exposed communication, most of which is waiting for others."
        + left_out(len(shown), len(spreads), "step", "those in which lanes differ most"),
        columns=(
            *(Column(name) for name in ("step", "lanes", "longest step")),
            Column("slowest lane", Kind.WORD),
            *(
                Column(name)
                for name in ("its own time", "median own time", "more", "longest compute", "median compute")
            ),
        ),
        rows=tuple(_row(analysis, one) for one in sorted(shown, key=lambda one: one.number)),
    )


def _row(analysis: Analysis, one: StepSpread) -> tuple[str, ...]:
    more = one.slowest_own_ns / one.median_own_ns - 1 if one.median_own_ns else 0.0
    return (
        str(one.number),
        format_count(one.lanes),
        format_duration(one.longest_ns),
        lane_name(analysis, one.slowest_lane),
        *(format_duration(ns) for ns in (one.slowest_own_ns, one.median_own_ns)),
        format_share(more),
        *(format_duration(ns) for ns in (one.slowest_compute_ns, one.median_compute_ns)),
    )
