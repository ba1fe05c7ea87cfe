"""The results: frozen values with their unit in the name, made by analysis and read by everything after it.

All times are int64 nanoseconds on the report's own clock; intervals are half-open. docs/meaning.md defines the words.
"""

from __future__ import annotations

from dataclasses import dataclass

from gapfinder.budget import Budget, Window
from gapfinder.explanations import (
    Buckets,
    Cause,
    CollectiveSummary,
    Evidence,
    Finding,
    HostActivity,
    KernelTotal,
    StepCommunication,
)
from gapfinder.hosts import Host, HostClock, LaneSteps
from gapfinder.links import Link
from gapfinder.processes import SlowRank, TrainingProcess
from gapfinder.stragglers import StepSpread, Straggler

SCHEMA_VERSION = 1
NO_COMMUNICATION = "no communication was captured"
"""The `overlap_reason` of a lane on which nothing communicates; every other reason means that it cannot be known."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Gaps:
    """The idle intervals of a lane that are at least `min_gap_ns` long."""

    min_gap_ns: int
    count: int
    total_ns: int
    longest_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Hole:
    """A blank between compute: no compute and no graph for at least `min_gap_ns`. Its three parts add up exactly.

    Attributes:
        cause: what most of it is charged to.
        evidence: what was seen.
        before: name of the operation that ended where the hole starts; None at the window's edge.
        after: name of the operation that started where the hole ends; None at the window's edge.
    """

    start_ns: int
    end_ns: int
    idle_ns: int
    exposed_ns: int
    copy_only_ns: int
    cause: Cause
    evidence: Evidence
    before: str | None
    after: str | None

    @property
    def duration_ns(self) -> int:
        """Length in ns."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True, kw_only=True, slots=True)
class Holes:
    """All holes of a lane, with the longest ones in full (longest first)."""

    min_gap_ns: int
    count: int
    total_ns: int
    top: tuple[Hole, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One training step as one lane ran it."""

    name: str
    number: int
    window: Window
    budget: Budget
    overlap_ratio: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Steps:
    """The complete steps of a lane after warm-up, and how many were left out (warm-up, open, cut, without GPU work).

    `total` is the sum of their budgets, part by part.
    """

    items: tuple[Step, ...]
    total: Budget
    dropped: int
    mean_ns: int
    p50_ns: int
    p99_ns: int

    @property
    def count(self) -> int:
        """Number of steps the statistics stand on."""
        return len(self.items)


@dataclass(frozen=True, kw_only=True, slots=True)
class Lane:
    """One GPU as one process used it.

    Attributes:
        file: name of the report.
        pid: operating system's process id.
        device: CUDA device number as that process counts.
        rank: number in the job where the report or the user tells it; None otherwise.
        gpu_name: product name; None where the report does not tell.
        shares_gpu_with: indices (into Analysis.lanes) of lanes on the same physical GPU.
        kernels: usable kernel rows, those of zero length included.
        ops: usable rows of all kinds.
        dropped_ops: rows that cannot be used (0/0, or an end before the start).
        idle_reason: why idle time could not be measured; None when it could.
        overlap_ratio: hidden / communication; None with `overlap_reason` when it could not be measured.
        overlap_reason: why there is no ratio, or why 0 is structural.
        peer_copy_ns: union of peer-to-peer copies that were not counted as communication.
        causes: hole time by cause, from each hole's shares; adds up to holes.total_ns.
        host: how the process drove its GPU.
        steps: None when no steps were found.
        steps_reason: why there are no steps; None when there are.
    """

    file: str
    pid: int
    device: int
    rank: int | None
    gpu_name: str | None
    shares_gpu_with: tuple[int, ...]
    window: Window
    kernels: int
    ops: int
    dropped_ops: int
    budget: Budget
    idle_reason: str | None
    overlap_ratio: float | None
    overlap_reason: str | None
    peer_copy_ns: int
    gaps: Gaps
    holes: Holes
    causes: dict[Cause, int]
    host: HostActivity
    steps: Steps | None
    steps_reason: str | None

    @property
    def is_idle_known(self) -> bool:
        """Whether idle time, and so gaps and holes, could be measured."""
        return self.idle_reason is None


@dataclass(frozen=True, kw_only=True, slots=True)
class Total:
    """Sums over all lanes.

    Attributes:
        budget: sums of the lanes' budgets, part by part.
        overlap_ratio: sum of hidden / sum of communication; None when a lane with communication was not measurable.
        overlap_reason: why there is no ratio; None when there is one.
        worst_lane: index (into Analysis.lanes) of the lowest overlap ratio; None when no lane has one.
    """

    lanes: int
    budget: Budget
    idle_reason: str | None
    overlap_ratio: float | None
    overlap_reason: str | None
    worst_lane: int | None

    @property
    def is_idle_known(self) -> bool:
        """Whether idle time could be measured on every lane."""
        return self.idle_reason is None


@dataclass(frozen=True, kw_only=True, slots=True)
class DecidedName:
    """A kernel name above 1 % of kernel time whose kind a reader should check.

    Attributes:
        pattern: the pattern that decided; None where the name only looks like communication and counts as compute.
        is_communication: what it was counted as.
        share: of all kernel time, as a ratio.
    """

    name: str
    pattern: str | None
    is_communication: bool
    share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Source:
    """Where the numbers come from; versions are None where the files do not tell or differ."""

    files: tuple[str, ...]
    nsys_version: str | None
    export_schema_version: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Coverage:
    """What the capture holds, and in sentences what it cannot answer."""

    kernels: bool
    copies: bool
    graphs: bool
    nvtx: bool
    runtime: bool
    osrt: bool
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Analysis:
    """Everything measured in one call of `analyze`; without lanes when no GPU operation was captured.

    Attributes:
        link: between the lanes; None without communication.
        kernels: the kernels with most time, most first.
        processes: training processes as their NVTX ranges show them, in order of rank, else of host and pid.
        slow_ranks: processes that the others wait for on the host, slowest first.
        world_size: ranks in the job; None where no mark tells.
        clocks: of each host, or report whose host is not known; empty where all lanes share one.
        hosts: side by side, in order of their first lane; empty where all lanes are on one.
        lane_steps: every lane in every step; None where no two lanes have one in common.
    """

    source: Source
    lanes: tuple[Lane, ...]
    total: Total | None
    coverage: Coverage
    decided_names: tuple[DecidedName, ...] = ()
    link: Link | None = None
    collectives: tuple[CollectiveSummary, ...] = ()
    collective_steps: tuple[StepCommunication, ...] = ()
    buckets: tuple[Buckets, ...] = ()
    step_spreads: tuple[StepSpread, ...] = ()
    stragglers: tuple[Straggler, ...] = ()
    findings: tuple[Finding, ...] = ()
    kernels: tuple[KernelTotal, ...] = ()
    processes: tuple[TrainingProcess, ...] = ()
    slow_ranks: tuple[SlowRank, ...] = ()
    world_size: int | None = None
    clocks: tuple[HostClock, ...] = ()
    hosts: tuple[Host, ...] = ()
    lane_steps: LaneSteps | None = None

    def measured_lanes(self) -> dict[int, Lane]:
        """Return the lanes whose idle time, and so whose holes, could be measured, by index."""
        return {index: lane for index, lane in enumerate(self.lanes) if lane.is_idle_known}
