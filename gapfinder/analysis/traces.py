"""What a timeline shows beside the results: every operation, hole, step, range and call, handed out lane by lane."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.analyze import join
from gapfinder.analysis.causes import communication_layers
from gapfinder.analysis.clock_lines import REFERENCE
from gapfinder.analysis.lane import GRAPH_NAME
from gapfinder.analysis.lanes import are_usable
from gapfinder.analysis.measure import measure_report
from gapfinder.analysis.traced_host import TracedProcess, trace_process
from gapfinder.tables import MEMSET

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import pandas as pd

    from gapfinder.analysis.clock_lines import ClockLine
    from gapfinder.analysis.host_events import Layers
    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.lane import LaneMeasurement
    from gapfinder.analysis.lanes import LaneOperations, Operations
    from gapfinder.analysis.measure import MeasuredLane, MeasuredReport
    from gapfinder.analysis.report import Report
    from gapfinder.analysis.steps import StepWindows
    from gapfinder.analysis.survey import Scope
    from gapfinder.analysis.timeline import HoleParts
    from gapfinder.load import Profile
    from gapfinder.model import Analysis
    from gapfinder.settings import Settings


# CUPTI's CUpti_ActivityMemcpyKind, and what counts as one more
_COPY_NAMES = {
    MEMSET: "memset",
    0: "memcpy",
    1: "memcpy host to device",
    2: "memcpy device to host",
    3: "memcpy host to array",
    4: "memcpy array to host",
    5: "memcpy array to array",
    6: "memcpy array to device",
    7: "memcpy device to array",
    8: "memcpy device to device",
    9: "memcpy host to host",
    10: "memcpy peer to peer",
}
_COLLECTIVE_COPY = "memcpy of a collective"


@dataclass(frozen=True, slots=True, eq=False)
class TracedOperations:
    """Usable operations of one kind, in order of start; each array has shape (n,).

    Attributes:
        starts, ends: ns.
        names: index into `texts`.
        streams: CUDA stream; unique only within process, device and context.
        calls: place of the launch call in the process's `calls`; -1 where it was not captured.
    """

    starts: Int64s
    ends: Int64s
    names: Int64s
    streams: Int64s
    calls: Int64s
    texts: Sequence[str]


@dataclass(frozen=True, slots=True, eq=False)
class TracedLane:
    """One lane of a report, in the order of `MeasuredReport.lanes`.

    Attributes:
        process: key of its process.
        operations: compute, communication, copies, graphs.
        holes: all of them.
        shares: shape (causes, holes), ns; communication is not yet charged.
        steps: with GPU work, complete or not; None where none were found.
    """

    process: int
    operations: tuple[TracedOperations, ...]
    holes: HoleParts
    shares: Int64s
    steps: StepWindows | None


@dataclass(frozen=True, slots=True, eq=False)
class PlacedLane:
    """Where a lane of the analysis comes from, and what only a look at all lanes tells.

    Attributes:
        report, number: place of its report, and its own in `MeasuredReport.lanes`.
        zero_ns: what its report's time 0 is on its host's clock.
        clock: that clock against the job's.
        communication: charges exposed communication.
    """

    report: int
    number: int
    zero_ns: int
    clock: ClockLine
    communication: Layers


@dataclass(frozen=True, slots=True, eq=False)
class JoinedTraces:
    """An analysis, its single collectives (frame COLLECTIVES), and the place of each of its lanes."""

    analysis: Analysis
    collectives: pd.DataFrame
    lanes: tuple[PlacedLane, ...]


def trace_report(
    profile: Profile, *, settings: Settings, keep: Callable[[TracedProcess | TracedLane], None]
) -> MeasuredReport:
    """Measure a report and hand over its timeline piece by piece, each process before its first lane.

    A piece is in memory only as long as `keep` holds it. Whatever window or steps are asked for, operations and host
    events are those of the whole capture; holes are those of the window.
    """
    processes: dict[int, TracedProcess] = {}

    def seen(report: Report, measurement: LaneMeasurement, scope: Scope) -> None:
        key = measurement.operations.process
        if key not in processes:
            processes.clear()  # lanes come in order of process
            processes[key] = trace_process(report, key)
            keep(processes[key])
        holes, shares = measurement.every_hole()
        operations = _operations(measurement.operations, report=report, process=processes[key])
        keep(TracedLane(key, operations, holes, shares, scope.all_steps))

    return measure_report(profile, settings=settings, seen=seen)


def join_traces(reports: Sequence[MeasuredReport], *, settings: Settings) -> JoinedTraces:
    """Return what `join_collectives` returns for reports that were traced, and where each lane's trace belongs."""
    found = join(reports, settings=settings)
    base = min((report.start_utc_ns for report in reports if report.start_utc_ns is not None), default=0)
    aligned = zip(found.job.clocks, found.job.matched.alignments, strict=True) if found.job.clocks else ()
    lines = {lane: alignment.line for clock, alignment in aligned for lane in clock.lanes}
    lanes = []
    for at, ((place, one), times) in enumerate(zip(found.placed, found.job.matched.times, strict=True)):
        started = reports[place].start_utc_ns
        lanes.append(
            PlacedLane(
                report=place,
                number=_number(one, reports[place]),
                zero_ns=0 if started is None else started - base,
                clock=lines.get(at, REFERENCE),
                communication=communication_layers(one.communication, times),
            )
        )
    return JoinedTraces(found.analysis, found.collectives(), tuple(lanes))


def _number(lane: MeasuredLane, report: MeasuredReport) -> int:
    return next(number for number, one in enumerate(report.lanes) if one is lane)


def _operations(lane: LaneOperations, *, report: Report, process: TracedProcess) -> tuple[TracedOperations, ...]:
    """Return a lane's operations by kind; each kind's texts are the report's kernel names and those made up for it."""
    kernels, graphs, copies = report.profile.kernels, report.profile.graphs, report.profile.copies
    kernel_rows = _rows(kernels, lane)
    is_compute = ~report.is_communication[kernels["name"].cat.codes.to_numpy()[kernel_rows]]
    copy_kinds = copies["kind"].to_numpy()[lane.copy_rows]
    known = list(_COPY_NAMES)
    copy_names = np.searchsorted(known, np.where(np.isin(copy_kinds, known), copy_kinds, 0))
    communication = lane.communication.names
    named = (
        (lane.compute.names, report.kernel_names, kernels["stream"].to_numpy()[kernel_rows[is_compute]]),
        (
            np.where(communication < 0, len(report.kernel_names), communication),
            [*report.kernel_names, _COLLECTIVE_COPY],
            lane.communication_streams,
        ),
        (copy_names, list(_COPY_NAMES.values()), copies["stream"].to_numpy()[lane.copy_rows]),
        (np.zeros(len(lane.graphs), np.int64), [GRAPH_NAME], graphs["stream"].to_numpy()[_rows(graphs, lane)]),
    )
    return tuple(
        _in_order(operations, names=names, texts=texts, streams=streams, process=process)
        for operations, (names, texts, streams) in zip(lane.by_kind, named, strict=True)
    )


def _rows(frame: pd.DataFrame, lane: LaneOperations) -> Int64s:
    """Return the usable rows of a lane in a frame of operations."""
    columns = (frame[name].to_numpy() for name in ("process", "device", "start", "end"))
    processes, devices, starts, ends = columns
    return np.flatnonzero((processes == lane.process) & (devices == lane.device) & are_usable(starts, ends))


def _in_order(
    operations: Operations, *, names: Int64s, texts: Sequence[str], streams: Int64s, process: TracedProcess
) -> TracedOperations:
    starts = operations.starts
    calls = process.call_places[operations.calls]
    if not (starts[1:] < starts[:-1]).any():
        return TracedOperations(starts, operations.ends, names, streams, calls, texts)
    order = np.argsort(starts, kind="stable")
    return TracedOperations(starts[order], operations.ends[order], names[order], streams[order], calls[order], texts)
