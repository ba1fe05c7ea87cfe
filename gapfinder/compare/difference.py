"""What a comparison of two trainings found: frozen values, every time scaled to the same unit on both sides.

All times are int64 nanoseconds of one GPU in one unit: a step, or a second where there are no steps.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gapfinder.budget import Budget
    from gapfinder.explanations import Cause, Severity


class Unit(StrEnum):
    """What both sides are scaled to: the mean complete step of a lane, or a second of the lanes' windows."""

    STEP = "step"
    SECOND = "second"


class Status(StrEnum):
    """What became of something from before to after."""

    APPEARED = "appeared"
    GONE = "gone"
    GREW = "grew"
    SHRANK = "shrank"
    SAME = "same"


@dataclass(frozen=True, kw_only=True, slots=True)
class Side:
    """A lane, or all lanes, in one unit.

    Attributes:
        budget: its parts add up to its window exactly; the window is the mean step, or a second.
        steps: complete steps the numbers stand on; 0 where there are none.
        p50_ns: of the steps' lengths; None without steps.
        idle_reason, overlap_ratio, overlap_reason: as in `model.Lane`.
    """

    budget: Budget
    steps: int
    p50_ns: int | None
    idle_reason: str | None
    overlap_ratio: float | None
    overlap_reason: str | None

    @property
    def is_idle_known(self) -> bool:
        """Whether idle time could be measured."""
        return self.idle_reason is None


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneChange:
    """One lane on both sides; None where it has no partner, or no steps though others have."""

    label: str
    before: Side | None
    after: Side | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CauseChange:
    """Hole time by cause; without a cause, blanks too short for a hole."""

    cause: Cause | None
    status: Status
    before_ns: int
    after_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class FindingChange:
    """A finding with what it costs on each side; None where it is not there.

    Attributes:
        title, severity: of the side after where it is there, else of the one before.
        lanes: label of the lane it is about on each side; None where it is not there or is about all.
    """

    code: str
    title: str
    severity: Severity
    lanes: tuple[str | None, str | None]
    status: Status
    before_ns: int | None
    after_ns: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Amount:
    """How often something ran in a unit, and for how long in all."""

    count: float
    total_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectiveAmount:
    """One operation of all communicators in a unit.

    Attributes:
        count: instances in the whole job, while times are those of one GPU.
        wait_ns, transfer_ns: None where not every communicator could be split.
    """

    count: float
    total_ns: int
    hidden_ns: int
    exposed_ns: int
    wait_ns: int | None
    transfer_ns: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectiveChange:
    """One operation on both sides; None where it did not run."""

    operation: str
    status: Status
    before: CollectiveAmount | None
    after: CollectiveAmount | None


@dataclass(frozen=True, kw_only=True, slots=True)
class KernelChange:
    """Kernels of one name on both sides.

    Attributes:
        before, after: None where it did not run, or had too little time to be kept (then `status` is grew or shrank).
    """

    name: str
    is_communication: bool
    status: Status
    before: Amount | None
    after: Amount | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CallChange:
    """A synchronising call on both sides; its time is that inside holes."""

    name: str
    status: Status
    before: Amount
    after: Amount


@dataclass(frozen=True, kw_only=True, slots=True)
class Pace:
    """The compute kernels whose names both sides have: whether there is more work in a unit, or work takes longer.

    Time in the unit is multiplied by `work` times `duration` from before to after.

    Attributes:
        work: work in a unit, each kernel weighted with its mean length before.
        duration: how long the same work takes.
        share_before, share_after: of all compute kernel time that was kept.
    """

    work: float
    duration: float
    share_before: float
    share_after: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Difference:
    """What changed from one training to another; everything but lanes and notes comes with the largest change first.

    Attributes:
        names: what the two sides are called.
        min_gap_ns: shortest hole; None where the sides differ in it.
        before, after: over all lanes.
        causes, calls, collectives, kernels: over all lanes, scaled from their whole windows to the unit.
        pace: None where no compute kernel has a partner.
        notes: in sentences, what makes the comparison less than it looks.
    """

    names: tuple[str, str]
    min_gap_ns: int | None
    unit: Unit
    before: Side
    after: Side
    lanes: tuple[LaneChange, ...]
    causes: tuple[CauseChange, ...]
    findings: tuple[FindingChange, ...]
    collectives: tuple[CollectiveChange, ...]
    kernels: tuple[KernelChange, ...]
    calls: tuple[CallChange, ...]
    pace: Pace | None
    notes: tuple[str, ...]
