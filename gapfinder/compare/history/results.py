"""What a history holds and tells: frozen values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gapfinder.compare.metrics import Metric

SHORTEST_LEVEL = 4
"""Runs that a level has at least."""


class Source(StrEnum):
    """What stored a run."""

    RUN = "run"
    CHECK = "check"
    DASHBOARD = "dashboard"
    WATCH = "watch"
    ADD = "add"


@dataclass(frozen=True, kw_only=True, slots=True)
class Run:
    """A row of the table `runs`; docs/history.md describes the fields."""

    id: int
    recorded: str
    created: str
    branch: str
    label: str | None
    source: str
    accepted: bool
    digest: str
    git_commit: str | None
    gapfinder_version: str
    nsys_version: str | None
    gpu_names: str | None
    world_size: int | None
    lanes: int
    steps: int
    min_gap_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Recorded:
    """A run that is in the store, and whether it was stored just now."""

    run: Run
    is_new: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class ChangePoint:
    """One change of level.

    Attributes:
        at: place of the first value of the new level.
        before, after: medians of the levels on both sides, each up to the next change.
    """

    at: int
    before: float
    after: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One run of a trend.

    Attributes:
        value: a ratio or ns; None where the run could not measure it.
        change: that the level changed with this run; None where it did not.
    """

    run: Run
    value: float | None
    change: ChangePoint | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Trend:
    """A metric over the runs of a branch, oldest first."""

    metric: Metric
    branch: str
    points: tuple[Point, ...]
