"""What a timeline consists of, before anything of it is drawn: lanes with their names and rows, and causes of holes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dashboards.data.rows import OPERATIONS, Row
from gapfinder.explanations import Cause

if TYPE_CHECKING:
    from dashboards.data.opening import OpenProfile
    from dashboards.data.trace import Events, ProcessTrace, Trace

_CAUSES = tuple(Cause)


@dataclass(frozen=True, slots=True)
class LaneOutline:
    """One lane.

    Attributes:
        lane: index into `Analysis.lanes`.
        host: None where no file tells.
        rows: those that have anything in them, from the top.
        ranges_depth, calls_depth: how deep the launching thread's ranges and calls are nested.
    """

    lane: int
    host: str | None
    rows: tuple[Row, ...]
    ranges_depth: int
    calls_depth: int


@dataclass(frozen=True, slots=True)
class CauseOutline:
    """Holes whose main cause is this one, over all lanes; their time is the whole of those holes."""

    cause: Cause
    count: int
    total_ns: int


def lane_outlines(profile: OpenProfile) -> list[LaneOutline]:
    """Return the lanes as they are shown: those of a host together, in order of rank, else of the analysis."""
    hosts = _hosts(profile)
    outlines = [_outline(profile.trace, lane, host=hosts.get(lane)) for lane in range(len(profile.trace.lanes))]
    first = {host: place for place, host in reversed(list(enumerate(one.host for one in outlines)))}
    ranks = [lane.rank for lane in profile.analysis.lanes]

    def place(one: LaneOutline) -> tuple[int, bool, int, int]:
        rank = ranks[one.lane]
        return first[one.host], rank is None, rank or 0, one.lane

    return sorted(outlines, key=place)


def cause_outlines(trace: Trace) -> list[CauseOutline]:
    """Return the causes that holes have, those with most time first."""
    counts = np.zeros(len(_CAUSES), np.int64)
    totals = np.zeros(len(_CAUSES), np.int64)
    for lane in trace.lanes:
        counts += np.bincount(lane.holes.causes, minlength=len(_CAUSES))
        np.add.at(totals, np.asarray(lane.holes.causes, np.int64), np.asarray(lane.holes.ends) - lane.holes.starts)
    found = [CauseOutline(_CAUSES[code], int(counts[code]), int(totals[code])) for code in np.flatnonzero(counts)]
    return sorted(found, key=lambda one: -one.total_ns)


def _hosts(profile: OpenProfile) -> dict[int, str]:
    """Return the host of each lane, as marks tell, else as the clocks are told apart."""
    clocks = {lane: clock.host for clock in profile.analysis.clocks for lane in clock.lanes}
    marks = {lane: one.host for one in profile.analysis.processes if one.host is not None for lane in one.lanes}
    return clocks | marks


def _outline(trace: Trace, lane: int, *, host: str | None) -> LaneOutline:
    one = trace.lanes[lane]
    process = trace.processes[one.process]
    ranges, calls = (_depth(process, events) for events in (process.ranges, process.calls))
    has = {
        Row.HOLES: True,
        Row.STEPS: len(one.steps.starts) > 0,
        **{row: len(one.operations[kind].starts) > 0 for row, kind in OPERATIONS.items()},
        Row.RANGES: ranges > 0,
        Row.CALLS: calls > 0,
    }
    return LaneOutline(lane, host, tuple(row for row in Row if has[row]), ranges, calls)


def _depth(process: ProcessTrace, events: Events) -> int:
    """Return how many of the launching thread's events run at once, at most; 0 where it has none."""
    if process.launching_thread is None:
        return 0
    depths = events.depths[events.of_thread(process.launching_thread)]
    return int(depths.max()) + 1 if len(depths) else 0
