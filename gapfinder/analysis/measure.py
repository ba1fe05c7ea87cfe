"""Measures one report: all its lanes, what it covers, and which kernel names took its time."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gapfinder.analysis.buckets import measure_buckets
from gapfinder.analysis.clocks import Clocks
from gapfinder.analysis.communication import KeptCommunication, keep_communication
from gapfinder.analysis.kernel_totals import NameTotals, name_totals
from gapfinder.analysis.lane import LaneMeasurement
from gapfinder.analysis.lanes import LaneOperations, split_lanes
from gapfinder.analysis.notes import is_met, payload_notes, report_notes
from gapfinder.analysis.payloads import Payloads
from gapfinder.analysis.processes import measure_processes
from gapfinder.analysis.report import Report, prepare
from gapfinder.analysis.stragglers import HostSteps, host_steps
from gapfinder.model import Coverage, Lane

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gapfinder.analysis.causes import ChargedHoles
    from gapfinder.analysis.classify import Decision
    from gapfinder.analysis.ranks import RankMark
    from gapfinder.budget import Window
    from gapfinder.explanations import Buckets
    from gapfinder.load import Profile
    from gapfinder.processes import TrainingProcess
    from gapfinder.settings import Settings

    Seen = Callable[[Report, LaneMeasurement, Window], None]
    _Gpus = dict[tuple[int, int], tuple[int | None, str | None]]


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredLane:
    """A lane and what places it among others.

    Attributes:
        gpu: the machine's number of its GPU; None where the report does not tell.
        process: process key.
        holes: its holes, their communication not yet charged.
        communication, host_steps: what the comparison with other lanes needs; None without steps.
        buckets: None where they could not be measured.
        clock: median clock of its GPU while it was busy, Hz; None where it was not sampled.
    """

    lane: Lane
    holes: ChargedHoles
    process: int
    gpu: int | None
    communication: KeptCommunication
    host_steps: HostSteps | None
    buckets: Buckets | None
    clock: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class MeasuredReport:
    """What is kept of a report when its operations are gone.

    Attributes:
        start_utc_ns: wall clock of the report's time 0, in ns since 1970; None where it is not told.
        lanes: in order of process and device.
        spans: first to last operation of every lane, those outside the asked window or steps too.
        step_numbers: numbers of the steps with GPU work; of all steps where there is no GPU work.
        devices: CUDA device numbers seen, those not asked for too.
        rank_marks: by process key.
        busy_processes: keys of the processes with GPU work, that not asked for too.
        processes: training processes by key, their file and lanes still empty.
        name_times: summed kernel time by kernel name, in ns, those outside the asked window or steps too.
        kernels: (count, summed ns) by kernel name, of what lies in the lanes' windows.
        decisions: what each kernel name counted as.
    """

    profile_path: tuple[str, ...]
    nsys_version: str | None
    export_schema_version: str | None
    start_utc_ns: int | None
    lanes: tuple[MeasuredLane, ...]
    spans: tuple[Window, ...]
    step_numbers: frozenset[int]
    devices: frozenset[int]
    rank_marks: dict[int, RankMark]
    busy_processes: frozenset[int]
    processes: dict[int, TrainingProcess]
    coverage: Coverage
    name_times: dict[str, int]
    kernels: dict[str, tuple[int, int]]
    decisions: dict[str, Decision]


@dataclass
class _Tally:
    """Grows while the lanes of a report go by."""

    everything: NameTotals
    measured: NameTotals
    lanes: list[MeasuredLane] = field(default_factory=list)
    spans: list[Window] = field(default_factory=list)
    step_numbers: set[int] = field(default_factory=set)
    devices: set[int] = field(default_factory=set)
    busy_processes: set[int] = field(default_factory=set)
    without_time: int = 0


def measure_report(profile: Profile, *, settings: Settings, seen: Seen = lambda *_: None) -> MeasuredReport:
    """Measure every lane of a report that the settings keep; `seen` is handed each as long as its operations are there.

    When nothing of the report is in the window asked for, it has no lanes in the end, though some were seen.
    """
    report = prepare(profile, settings=settings)
    told, undecoded = profile.read_payloads()
    payloads = Payloads(told, ranges=profile.ranges)
    context = _Context(report, payloads, Clocks(profile.read_clocks()), _gpus(report))
    names = len(report.kernel_names)
    tally = _Tally(everything=NameTotals.nothing(names), measured=NameTotals.nothing(names))
    for operations, span in _timed_lanes(report, settings=settings, tally=tally):
        totals = name_totals(operations, names=names)
        tally.everything += totals
        measurement = LaneMeasurement(operations, report=report, settings=settings, span=span)
        tally.step_numbers.update(measurement.step_numbers())
        if measurement.window is not None:
            window = measurement.window
            tally.lanes.append(_measured(measurement, window, context))
            seen(report, measurement, window)
            tally.measured += totals if window == span else name_totals(operations, names=names, window=window)
    if settings.window is not None and not is_met(settings.window, tally.spans):
        tally.lanes.clear()  # the window is on another report's clock; this one's GPUs were not idle in it
        tally.measured = NameTotals.nothing(names)
    return MeasuredReport(
        profile_path=profile.path.parts,
        nsys_version=profile.nsys_version,
        export_schema_version=profile.export_schema_version,
        start_utc_ns=profile.start_utc_ns,
        lanes=tuple(tally.lanes),
        spans=tuple(tally.spans),
        step_numbers=frozenset(tally.step_numbers if tally.spans else _numbers_on_host(report)),
        devices=frozenset(tally.devices),
        rank_marks=report.rank_marks,
        busy_processes=frozenset(tally.busy_processes),
        processes=measure_processes(report, settings=settings, with_lanes=(lane.process for lane in tally.lanes)),
        coverage=_coverage(report, settings=settings, tally=tally, undecoded_payloads=undecoded),
        name_times={name: ns for name, (_, ns) in tally.everything.by_name(report.kernel_names).items()},
        kernels=tally.measured.by_name(report.kernel_names),
        decisions=dict(zip(report.kernel_names, report.decisions, strict=True)),
    )


def _numbers_on_host(report: Report) -> set[int]:
    return {number for steps in report.steps.values() for number in steps.numbers.tolist()}


@dataclass(frozen=True, slots=True, eq=False)
class _Context:
    """What is known of a report beside its lanes."""

    report: Report
    payloads: Payloads
    clocks: Clocks
    gpus: _Gpus


def _measured(measurement: LaneMeasurement, window: Window, context: _Context) -> MeasuredLane:
    """Return a lane's results inside `window`, and what comparing it with other lanes needs."""
    operations, report = measurement.operations, context.report
    gpu, gpu_name = context.gpus.get((operations.process, operations.device), (None, None))
    lane, holes = measurement.lane(window, rank=report.rank(operations.process), gpu_name=gpu_name)
    steps = measurement.complete_steps(window)
    return MeasuredLane(
        lane=lane,
        holes=holes,
        process=operations.process,
        gpu=gpu,
        communication=keep_communication(
            operations,
            kernel_names=report.kernel_names,
            window=window,
            steps=steps,
            told=context.payloads.of(operations.communication, launches=report.launches.get(operations.process)),
        ),
        host_steps=host_steps(operations, report=report, steps=steps) if steps else None,
        buckets=measure_buckets(operations, report=report, steps=steps) if steps else None,
        clock=context.clocks.median(gpu, busy=measurement.busy(window)),
    )


def _timed_lanes(report: Report, *, settings: Settings, tally: _Tally) -> Iterator[tuple[LaneOperations, Window]]:
    """Yield the lanes that are asked for and have operations that take time, with their span."""
    for operations in split_lanes(report):
        tally.devices.add(operations.device)
        span = operations.span()
        if span is not None:
            tally.busy_processes.add(operations.process)
        if settings.gpus and operations.device not in settings.gpus:
            continue
        if span is None:
            tally.without_time += 1
            continue
        tally.spans.append(span)
        yield operations, span


def _gpus(report: Report) -> _Gpus:
    """Return the GPU's number and name by (process, device), as far as the report tells."""
    devices = report.profile.devices
    keys = zip(devices["process"].tolist(), devices["device"].tolist(), strict=True)
    values = zip(devices["gpu"].tolist(), devices["gpu_name"].astype(str), strict=True)
    return {key: (gpu if gpu >= 0 else None, name or None) for key, (gpu, name) in zip(keys, values, strict=True)}


def _coverage(report: Report, *, settings: Settings, tally: _Tally, undecoded_payloads: int) -> Coverage:
    profile = report.profile
    lanes = [one.lane for one in tally.lanes]
    return Coverage(
        kernels=not profile.kernels.empty,
        copies=not profile.copies.empty,
        graphs=not profile.graphs.empty,
        nvtx=profile.has_nvtx,
        runtime=profile.has_calls,
        osrt=profile.has_os_calls,
        notes=(
            *report_notes(
                report, settings=settings, lanes=lanes, spans=tally.spans, lanes_without_time=tally.without_time
            ),
            *payload_notes(undecoded_payloads),
        ),
    )
