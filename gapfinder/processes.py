"""What training processes did on the host: their steps and phases, as NVTX ranges tell; no GPU work is needed for it.

All times are int64 nanoseconds on the report's own clock.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """What a training process is busy with in a step; the texts of the hook's NVTX ranges. OTHER is the rest."""

    DATA_LOADING = "data loading"
    FORWARD = "forward"
    BACKWARD = "backward"
    OPTIMIZER = "optimizer"
    CHECKPOINT = "checkpoint"
    GARBAGE_COLLECTION = "garbage collection"
    OTHER = "other"


@dataclass(frozen=True, kw_only=True, slots=True)
class HostStep:
    """One step as the host saw it.

    Attributes:
        micro_steps: forward and backward passes in it; 1 where nothing tells.
        phases: ns by phase; each moment counts for the innermost phase, so that they add up to the step exactly.
    """

    name: str
    number: int
    start_ns: int
    end_ns: int
    micro_steps: int
    phases: dict[Phase, int]

    @property
    def duration_ns(self) -> int:
        """Length in ns."""
        return self.end_ns - self.start_ns


@dataclass(frozen=True, kw_only=True, slots=True)
class HostSteps:
    """The complete steps of a process after warm-up, and how many were left out (warm-up, open, cut).

    Attributes:
        phases: sums over the steps; they add up to all steps' time exactly.
    """

    items: tuple[HostStep, ...]
    dropped: int
    mean_ns: int
    p50_ns: int
    p99_ns: int
    phases: dict[Phase, int]

    @property
    def count(self) -> int:
        """Number of steps the statistics stand on."""
        return len(self.items)


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingProcess:
    """One process that has step ranges, a rank mark or a lane.

    Attributes:
        file: name of the report.
        rank, local_rank, world_size, host: as its mark tells; None where there is none.
        lanes: its lanes, indices into `Analysis.lanes`; empty where no GPU work was captured.
        steps: None when no steps were found.
        steps_reason: why there are none; None when there are.
    """

    file: str
    pid: int
    rank: int | None
    local_rank: int | None
    world_size: int | None
    host: str | None
    lanes: tuple[int, ...]
    steps: HostSteps | None
    steps_reason: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class SlowRank:
    """A process that the others wait for on the host: its own time is 20 % over theirs in most steps.

    Own time is the step without its backward, in which processes wait for each other's gradients; theirs is the median
    of the other processes of the job that have the step, so that of two processes one can be slow.

    Attributes:
        process: index into `Analysis.processes`.
        steps: in how many steps, of how many that another process has as well.
        own_ratio: its own time to that of the others, median over the slow steps.
        phase: the phase that differs most.
        phase_ns: how much longer that phase is than the others', median over the slow steps.
        lost_ns: by how much its own time is over that of the others, summed over the slow steps.
    """

    process: int
    steps: tuple[int, int]
    own_ratio: float
    phase: Phase
    phase_ns: int
    lost_ns: int
