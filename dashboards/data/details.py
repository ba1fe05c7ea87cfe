"""Everything about one hole or one mark, from columns and from what the analysis kept."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dashboards.data.detail_values import HoleDetails, OperationDetails
from dashboards.data.lookups import LaneLookup, check_place, system_thread
from dashboards.data.rows import OPERATIONS, Row
from gapfinder.analysis.traced_host import OVERHEAD
from gapfinder.errors import InputError
from gapfinder.explanations import Cause

if TYPE_CHECKING:
    from dashboards.data.opening import OpenProfile
    from dashboards.data.trace import Trace
    from gapfinder.model import Hole

_MOST_CALLS = 20
_CAUSES = tuple(Cause)


def hole_details(profile: OpenProfile, *, lane: int, hole: int) -> HoleDetails:
    """Return everything about a hole, `hole` as the window's "ids" tell it; InputError where there is none."""
    about = LaneLookup(profile.trace, lane)
    holes, calls = about.lane.holes, about.process.calls
    check_place(hole, of=len(holes.starts), what="hole")
    start, end = int(holes.starts[hole]), int(holes.ends[hole])
    after = about.beginning_at(end)
    call = None if after is None else about.launch_call(after)
    thread = about.process.launching_thread if call is None else int(calls.threads[call])
    mine = about.calls_in(thread, start, end)
    mine = mine[calls.kinds[mine] != OVERHEAD]
    theirs = np.concatenate([np.empty(0, np.int64), *(about.calls_in(one, start, end) for one in calls.each_thread())])
    theirs = theirs[calls.kinds[theirs] == OVERHEAD]
    shares = zip(_CAUSES, holes.shares[hole].tolist(), strict=True)
    return HoleDetails(
        lane=lane,
        hole=hole,
        start_ns=about.since_origin(start),
        duration_ns=end - start,
        idle_ns=int(holes.idle[hole]),
        exposed_ns=int(holes.exposed[hole]),
        copy_only_ns=int(holes.copy_only[hole]),
        cause=_CAUSES[int(holes.causes[hole])],
        shares={cause: ns for cause, ns in shares if ns},
        measured=_measured(profile, lane, start=start, end=end),
        before=about.ending_at(start),
        after=after,
        launch=None if after is None or call is None else about.launch(after, call),
        ranges=about.ranges_around(thread, start if call is None else int(calls.starts[call])),
        thread=system_thread(thread),
        calls=about.most_inside(calls, mine, start=start, end=end, most=_MOST_CALLS),
        calls_count=len(mine),
        overheads=about.most_inside(calls, theirs, start=start, end=end, most=_MOST_CALLS),
        collective=about.longest_collective(start, end),
        step=about.step_at(start),
    )


def operation_details(profile: OpenProfile, *, lane: int, row: Row, op: int) -> OperationDetails:
    """Return everything about a mark of a row, `op` as the window's "ids" tell it; InputError where there is none."""
    about = LaneLookup(profile.trace, lane)
    if row in OPERATIONS:
        return _operation(about, lane=lane, row=row, op=op)
    if row is Row.STEPS:
        return _step(about, lane=lane, op=op)
    if row is Row.HOLES:
        raise InputError("a hole is no operation; ask for the hole")
    return _event(profile.trace, about, lane=lane, row=row, op=op)


def _operation(about: LaneLookup, *, lane: int, row: Row, op: int) -> OperationDetails:
    one, calls = about.operation(row, op), about.process.calls
    call = about.launch_call(one)
    return OperationDetails(
        lane=lane,
        row=row,
        op=op,
        time=one.time,
        stream=one.stream,
        launch=None if call is None else about.launch(one, call),
        ranges=() if call is None else about.ranges_around(int(calls.threads[call]), int(calls.starts[call])),
        thread=None if call is None else system_thread(int(calls.threads[call])),
        collective=about.collective_of(op) if row is Row.COMMUNICATION else None,
        step=about.step_at(int(about.lane.operations[OPERATIONS[row]].starts[op])),
    )


def _step(about: LaneLookup, *, lane: int, op: int) -> OperationDetails:
    steps = about.lane.steps
    check_place(op, of=len(steps.starts), what="step")
    time = about.timed(int(steps.names[op]), int(steps.starts[op]), int(steps.ends[op]))
    return OperationDetails(lane=lane, row=Row.STEPS, op=op, time=time, step=about.step(op))


def _event(trace: Trace, about: LaneLookup, *, lane: int, row: Row, op: int) -> OperationDetails:
    events = about.process.ranges if row is Row.RANGES else about.process.calls
    check_place(op, of=len(events.starts), what=row.removesuffix("s"))
    start, end, thread = int(events.starts[op]), int(events.ends[op]), int(events.threads[op])
    return OperationDetails(
        lane=lane,
        row=row,
        op=op,
        time=about.timed(int(events.names[op]), start, end),
        ranges=about.ranges_around(thread, start),
        thread=system_thread(thread),
        domain=trace.domains[int(events.kinds[op])] if row is Row.RANGES else None,
        step=about.step_at(start),
    )


def _measured(profile: OpenProfile, lane: int, *, start: int, end: int) -> Hole | None:
    """Return the analysis's own hole, which tells what was seen; None where it is not among the longest."""
    holes = profile.analysis.lanes[lane].holes.top
    return next((hole for hole in holes if (hole.start_ns, hole.end_ns) == (start, end)), None)
