"""What a check can look at: each number with its formula, its unit, and which direction is worse."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gapfinder.errors import InputError
from gapfinder.explanations import COPY_CAUSES, EXPOSED_CAUSES, IDLE_CAUSES, Cause
from gapfinder.model import NO_COMMUNICATION

if TYPE_CHECKING:
    from collections.abc import Callable

    from gapfinder.budget import Budget
    from gapfinder.compare.snapshot import LaneSnapshot


class Unit(StrEnum):
    """What a metric's value is: a ratio from 0 to 1, or nanoseconds."""

    RATIO = "ratio"
    NS = "ns"


class Statistic(StrEnum):
    """How a metric's steps become one number; RATIO_OF_SUMS is the formula of a whole window."""

    RATIO_OF_SUMS = "ratio of sums"
    MEDIAN = "median"
    MEAN = "mean"
    P99 = "99th percentile"


class Scope(StrEnum):
    """Of which lanes: all together, the worst one, or each by itself."""

    TOTAL = "total"
    WORST = "worst"
    EVERY = "every"


@dataclass(frozen=True, kw_only=True, slots=True)
class Metric:
    """One number of a training.

    Attributes:
        name: in limits and in JSON.
        words: in sentences.
        part: the time it is about, in ns.
        whole: what a ratio divides by; None for a time per step.
        higher_is_better: its direction.
        needs_idle, needs_overlap: what must have been measurable.
        is_part_of_step: it may be near nothing, so that a relative change alone says little.
        explained_by: codes of findings that can explain why it got worse; None for every finding.
        causes: of blank time that can explain it where no finding does.
    """

    name: str
    words: str
    part: Callable[[Budget], int]
    whole: Callable[[Budget], int] | None = None
    statistic: Statistic
    higher_is_better: bool = False
    needs_idle: bool = False
    needs_overlap: bool = False
    is_part_of_step: bool = True
    explained_by: frozenset[str] | None = None
    causes: frozenset[Cause] = frozenset(Cause)

    @property
    def unit(self) -> Unit:
        """What its value is."""
        return Unit.NS if self.whole is None else Unit.RATIO

    def can_be_explained_by(self, code: str) -> bool:
        """Return whether a finding can explain why it got worse."""
        return self.explained_by is None or code in self.explained_by


def find_metric(name: str) -> Metric:
    """Return the metric called `name`; InputError with those there are."""
    if name not in METRICS:
        raise InputError(f"no metric {name!r}; there are {', '.join(METRICS)}")
    return METRICS[name]


def why_unknown(metric: Metric, lane: LaneSnapshot) -> str | None:
    """Return why the metric could not be measured on a lane; None where it could, nothing to measure included."""
    if metric.needs_idle and lane.idle_reason is not None:
        return lane.idle_reason
    if metric.needs_overlap and lane.overlap_ratio is None and lane.overlap_reason != NO_COMMUNICATION:
        return lane.overlap_reason
    return None


def _window(budget: Budget) -> int:
    return budget.window_ns


def _exposed(budget: Budget) -> int:
    return budget.exposed_ns


def _idle(budget: Budget) -> int:
    return budget.idle_ns


def _communication(budget: Budget) -> int:
    return budget.communication_ns


_OF_COMMUNICATION = frozenset(
    {
        "accumulation-not-skipping-sync",
        "exposed-collective",
        "late-buckets",
        "many-small-collectives",
        "overlap-broken",
        "pipeline-bubble",
        "single-stream",
        "slow-link",
        "slow-nic",
        "slow-node",
        "straggler",
        "unbalanced-input",
        "zero-overlap-off",
    }
)
_OF_IDLE = frozenset(
    {
        "allocator-churn",
        "blocking-call",
        "capture-quality",
        "checkpoint-pause",
        "data-starved",
        "device-wait",
        "gc-pause",
        "graph-opaque",
        "host-code",
        "launch-bound",
        "pageable-copies",
        "sync-stall",
    }
)
_OF_COPIES = frozenset({"exposed-copies", "offload-copies", "pageable-copies"})
_ALL = (
    Metric(
        name="overlap_ratio",
        words="overlap ratio",
        part=lambda budget: budget.hidden_ns,
        whole=_communication,
        statistic=Statistic.RATIO_OF_SUMS,
        higher_is_better=True,
        needs_overlap=True,
        explained_by=_OF_COMMUNICATION,
        causes=EXPOSED_CAUSES,
    ),
    Metric(
        name="exposed_share",
        words="share of exposed communication",
        part=_exposed,
        whole=_window,
        statistic=Statistic.RATIO_OF_SUMS,
        needs_overlap=True,
        explained_by=_OF_COMMUNICATION,
        causes=EXPOSED_CAUSES,
    ),
    Metric(
        name="idle_share",
        words="share of idle time",
        part=_idle,
        whole=_window,
        statistic=Statistic.RATIO_OF_SUMS,
        needs_idle=True,
        explained_by=_OF_IDLE,
        causes=IDLE_CAUSES,
    ),
    Metric(
        name="busy_share",
        words="share of busy time",
        part=lambda budget: budget.busy_ns,
        whole=_window,
        statistic=Statistic.RATIO_OF_SUMS,
        higher_is_better=True,
        needs_idle=True,
        explained_by=_OF_IDLE,
        causes=IDLE_CAUSES,
    ),
    Metric(
        name="exposed_ms_per_step",
        words="exposed communication per step",
        part=_exposed,
        statistic=Statistic.MEDIAN,
        needs_overlap=True,
        explained_by=_OF_COMMUNICATION,
        causes=EXPOSED_CAUSES,
    ),
    Metric(
        name="idle_ms_per_step",
        words="idle time per step",
        part=_idle,
        statistic=Statistic.MEDIAN,
        needs_idle=True,
        explained_by=_OF_IDLE,
        causes=IDLE_CAUSES,
    ),
    Metric(
        name="communication_ms_per_step",
        words="communication per step",
        part=_communication,
        statistic=Statistic.MEDIAN,
        needs_overlap=True,
        explained_by=_OF_COMMUNICATION,
        causes=EXPOSED_CAUSES,
    ),
    Metric(
        name="copy_only_ms_per_step",
        words="time per step in which only copies run",
        part=lambda budget: budget.copy_only_ns,
        statistic=Statistic.MEDIAN,
        needs_idle=True,
        explained_by=_OF_COPIES,
        causes=COPY_CAUSES,
    ),
    Metric(name="step_mean", words="mean step time", part=_window, statistic=Statistic.MEAN, is_part_of_step=False),
    Metric(name="step_p50", words="median step time", part=_window, statistic=Statistic.MEDIAN, is_part_of_step=False),
    Metric(
        name="step_p99",
        words="99th percentile of step time",
        part=_window,
        statistic=Statistic.P99,
        is_part_of_step=False,
    ),
)
METRICS = {metric.name: metric for metric in _ALL}
"""Every metric, by name."""
