"""What is kept of one analysis to compare it with others: small, without a name of a person, host or folder.

All times are int64 nanoseconds.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gapfinder.budget import Budget
    from gapfinder.explanations import Cause, KernelTotal, Severity

SNAPSHOT_VERSION = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class StepSample:
    """One step of one lane; statistics are made again from these."""

    number: int
    budget: Budget
    overlap_ratio: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneSnapshot:
    """One lane; the meaning of each field is that of `model.Lane`.

    Attributes:
        label: how it is called: "rank 3", or "lane 3" where no rank is known.
        sync_calls: synchronising calls by name, as (count, ns inside holes).
    """

    label: str
    rank: int | None
    device: int
    gpu_name: str | None
    budget: Budget
    idle_reason: str | None
    overlap_ratio: float | None
    overlap_reason: str | None
    causes: dict[Cause, int]
    sync_calls: dict[str, tuple[int, int]]
    steps: tuple[StepSample, ...]
    steps_reason: str | None

    @property
    def is_idle_known(self) -> bool:
        """Whether idle time, and so holes, could be measured."""
        return self.idle_reason is None


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectiveTotal:
    """All instances of one operation on one communicator, over all lanes; fields as in `CollectiveSummary`."""

    operation: str
    communicator: str
    instances: int
    total_ns: int
    hidden_ns: int
    exposed_ns: int
    wait_ns: int | None
    transfer_ns: int | None
    bytes_total: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class FindingTotal:
    """One finding, without its text's details."""

    code: str
    severity: Severity
    title: str
    lost_ns: int
    share: float
    lane: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Snapshot:
    """One measured training.

    Attributes:
        digest: of every lane's budgets and steps: two snapshots with the same one are of the same capture.
        gapfinder_version, nsys_version: what measured, and what captured; None where the report does not tell.
        commit: git commit of the training's code; None where not known.
        created: when it was measured, ISO 8601 in UTC with seconds.
        world_size: ranks in the job, where the report tells.
        min_gap_ns: shortest gap and hole that was counted.
        step_range: (first, end) step numbers that were asked for; None for all.
        window: (start, end) in ns that was asked for; None for all.
        kernels: the kernels with most time, over all lanes.
    """

    digest: str
    gapfinder_version: str
    nsys_version: str | None
    commit: str | None
    created: str
    world_size: int | None
    min_gap_ns: int
    step_range: tuple[int, int] | None
    window: tuple[int, int] | None
    lanes: tuple[LaneSnapshot, ...]
    collectives: tuple[CollectiveTotal, ...]
    kernels: tuple[KernelTotal, ...]
    findings: tuple[FindingTotal, ...]
