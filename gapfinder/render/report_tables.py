"""Which tables a report for people has, and in which order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.render.cause_tables import cause_table, collective_table, straggler_table
from gapfinder.render.hole_tables import hole_table, name_table
from gapfinder.render.host_tables import clock_table, critical_table, host_table
from gapfinder.render.lane_tables import lane_table, longest_steps, step_table
from gapfinder.render.process_tables import process_tables
from gapfinder.render.spread_table import spread_table

if TYPE_CHECKING:
    from gapfinder.model import Analysis
    from gapfinder.render.table import Table

_STEPS, _NAMES, _COLLECTIVES = 5, 10, 10


def report_tables(analysis: Analysis, *, lanes: int, holes: int) -> list[Table]:
    """Return the tables that have something to tell, with at most so many lanes, training processes and holes."""
    on_the_host = process_tables(analysis, limit=lanes, steps=_STEPS)
    if not analysis.lanes:
        return on_the_host
    tables = (
        lane_table(analysis, limit=lanes),
        cause_table(analysis, limit=lanes),
        host_table(analysis, limit=lanes),
        straggler_table(analysis),
        critical_table(analysis, limit=_STEPS),
        collective_table(analysis, limit=_COLLECTIVES),
        step_table(analysis, limit=lanes),
        spread_table(analysis, limit=_STEPS),
        longest_steps(analysis, limit=_STEPS),
        *on_the_host,
        clock_table(analysis, limit=lanes),
        hole_table(analysis, limit=holes),
        name_table(analysis, limit=_NAMES),
    )
    return [table for table in tables if table is not None]
