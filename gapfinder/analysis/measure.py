"""Measures one report: all its lanes, what it covers, and which kernel names took its time."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.analysis.buckets import measure_buckets
from gapfinder.analysis.clocks import Clocks, median_clock
from gapfinder.analysis.communication import KeptCommunication, keep_communication
from gapfinder.analysis.joining import joined_parts, lane_of
from gapfinder.analysis.kernel_totals import NameTotals
from gapfinder.analysis.lane import LaneMeasurement, LanePart
from gapfinder.analysis.lanes import LaneOperations, split_lanes
from gapfinder.analysis.notes import is_met, payload_notes, report_notes
from gapfinder.analysis.passes import are_passes
from gapfinder.analysis.payloads import Payloads
from gapfinder.analysis.processes import measure_processes
from gapfinder.analysis.report import Report, prepare
from gapfinder.analysis.stragglers import HostSteps, host_steps
from gapfinder.analysis.stretches import CountedCalls, Stretch
from gapfinder.analysis.survey import Scope, Survey, scope_of, survey_lane
from gapfinder.model import Coverage, Lane

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gapfinder.analysis.causes import ChargedHoles
    from gapfinder.analysis.classify import Decision
    from gapfinder.analysis.ranks import RankMark
    from gapfinder.budget import Window
    from gapfinder.explanations import Buckets
    from gapfinder.load import Profile
    from gapfinder.processes import TrainingProcess
    from gapfinder.settings import Settings

    Seen = Callable[[Report, LaneMeasurement, Scope], None]
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


class Measuring:
    """A report on the way from its operations to what is kept of it, lane after lane."""

    def __init__(self, profile: Profile, *, settings: Settings) -> None:
        self.report = prepare(profile, settings=settings)
        self._settings = settings
        told, self._undecoded = profile.read_payloads()
        self._payloads = Payloads(told, ranges=profile.ranges)
        self._clocks = Clocks(profile.read_clocks())
        self._gpus = _gpus(self.report)
        names = len(self.report.kernel_names)
        self._everything, self._measured = NameTotals.nothing(names), NameTotals.nothing(names)
        self._lanes: list[MeasuredLane] = []
        self._spans: list[Window] = []
        self._step_numbers: set[int] = set()
        self._devices: set[int] = set()
        self._busy_processes: set[int] = set()
        self._without_time = 0

    def scope(self, operations: LaneOperations, survey: Survey) -> Scope | None:
        """Return what is to be measured of a lane; None where it was not asked for or has nothing that takes time."""
        self._devices.add(operations.device)
        span = survey.span
        if span is not None:
            self._busy_processes.add(operations.process)
        if self._settings.gpus and operations.device not in self._settings.gpus:
            return None
        if span is None:
            self._without_time += 1
            return None
        self._spans.append(span)
        self._everything += survey.totals
        scope = scope_of(operations.process, survey, span=span, report=self.report, settings=self._settings)
        if scope.all_steps is not None:
            self._step_numbers.update(scope.all_steps.numbers.tolist())
        return scope

    def stretch(self, operations: LaneOperations, *, report: Report, scope: Scope, stretch: Stretch) -> LaneMeasurement:
        """Return a stretch of a lane, to be measured; `report` holds what matters in it."""
        return LaneMeasurement(operations, report=report, settings=self._settings, scope=scope, stretch=stretch)

    def part(self, measurement: LaneMeasurement, *, counted: CountedCalls | None = None) -> LanePart:
        """Measure a stretch of a lane; `counted` are the launch calls of the stretches before it."""
        gpu, _ = self._gpu(measurement.operations)
        return measurement.part(clocks=self._clocks.at_work(gpu, busy=measurement.busy()), counted=counted)

    def add(self, operations: LaneOperations, parts: Sequence[LanePart], *, scope: Scope, window: Window) -> None:
        """Add a lane, all stretches of which were measured; `operations` has all its communication."""
        part, report = joined_parts(parts, top=self._settings.top), self.report
        gpu, gpu_name = self._gpu(operations)
        lane = lane_of(part, operations, window=window, scope=scope, report=report, gpu_name=gpu_name)
        process, steps, launches = operations.process, scope.steps, scope.survey.launches
        calls = report.launches.get(process)
        hosted, buckets = None, None
        if steps is not None and len(steps) and launches is not None:
            hosted = host_steps(process, report=report, steps=steps, first_launches=launches)
            buckets = measure_buckets(operations, report=report, steps=steps, backward=part.backward)
        self._measured += scope.survey.totals if window == scope.span else part.totals
        self._lanes.append(
            MeasuredLane(
                lane=lane,
                holes=part.charged,
                process=process,
                gpu=gpu,
                communication=keep_communication(
                    operations,
                    kernel_names=report.kernel_names,
                    window=window,
                    steps=steps,
                    is_pass=are_passes(
                        operations.communication,
                        kernel_names=report.kernel_names,
                        ranges=report.profile.ranges,
                        launches=calls,
                    ),
                    told=self._payloads.of(operations.communication, launches=calls),
                    computed=part.computed,
                ),
                host_steps=hosted,
                buckets=buckets,
                clock=median_clock(part.clocks),
            )
        )

    def result(self) -> MeasuredReport:
        """Return what is kept of the report."""
        report, settings, profile = self.report, self._settings, self.report.profile
        if settings.window is not None and not is_met(settings.window, self._spans):
            self._lanes.clear()  # the window is on another report's clock; this one's GPUs were not idle in it
            self._measured = NameTotals.nothing(len(report.kernel_names))
        return MeasuredReport(
            profile_path=profile.path.parts,
            nsys_version=profile.nsys_version,
            export_schema_version=profile.export_schema_version,
            start_utc_ns=profile.start_utc_ns,
            lanes=tuple(self._lanes),
            spans=tuple(self._spans),
            step_numbers=frozenset(self._step_numbers if self._spans else _numbers_on_host(report)),
            devices=frozenset(self._devices),
            rank_marks=report.rank_marks,
            busy_processes=frozenset(self._busy_processes),
            processes=measure_processes(report, settings=settings, with_lanes=(lane.process for lane in self._lanes)),
            coverage=self._coverage(),
            name_times={name: ns for name, (_, ns) in self._everything.by_name(report.kernel_names).items()},
            kernels=self._measured.by_name(report.kernel_names),
            decisions=dict(zip(report.kernel_names, report.decisions, strict=True)),
        )

    def _gpu(self, operations: LaneOperations) -> tuple[int | None, str | None]:
        return self._gpus.get((operations.process, operations.device), (None, None))

    def _coverage(self) -> Coverage:
        profile = self.report.profile
        return Coverage(
            kernels=not profile.kernels.empty,
            copies=not profile.copies.empty,
            graphs=not profile.graphs.empty,
            nvtx=profile.has_nvtx,
            runtime=profile.has_calls,
            osrt=profile.has_os_calls,
            notes=(
                *report_notes(
                    self.report,
                    settings=self._settings,
                    lanes=[one.lane for one in self._lanes],
                    spans=self._spans,
                    lanes_without_time=self._without_time,
                ),
                *payload_notes(self._undecoded),
            ),
        )


def measure_report(profile: Profile, *, settings: Settings, seen: Seen = lambda *_: None) -> MeasuredReport:
    """Measure every lane of a report that the settings keep; `seen` is handed each as long as its operations are there.

    When nothing of the report is in the window asked for, it has no lanes in the end, though some were seen.
    """
    measuring = Measuring(profile, settings=settings)
    report = measuring.report
    for operations in split_lanes(report):
        scope = measuring.scope(operations, survey_lane(operations, report=report))
        stretch = Stretch.of(scope.window) if scope is not None and scope.window is not None else None
        if scope is not None and stretch is not None:
            measurement = measuring.stretch(operations, report=report, scope=scope, stretch=stretch)
            measuring.add(operations, [measuring.part(measurement)], scope=scope, window=stretch.window)
            seen(report, measurement, scope)
    return measuring.result()


def _numbers_on_host(report: Report) -> set[int]:
    return {number for steps in report.steps.values() for number in steps.numbers.tolist()}


def _gpus(report: Report) -> _Gpus:
    """Return the GPU's number and name by (process, device), as far as the report tells."""
    devices = report.profile.devices
    keys = zip(devices["process"].tolist(), devices["device"].tolist(), strict=True)
    values = zip(devices["gpu"].tolist(), devices["gpu_name"].astype(str), strict=True)
    return {key: (gpu if gpu >= 0 else None, name or None) for key, (gpu, name) in zip(keys, values, strict=True)}
