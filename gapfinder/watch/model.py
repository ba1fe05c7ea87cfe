"""What a watch knows and leaves behind: the step times of each rank, what happened, and the captures that it took."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class TriggerKind(StrEnum):
    """Why a capture is taken."""

    HEALTHY = "healthy"
    DRIFT = "drift"
    LAG = "lag"
    STALL = "stall"
    STEP = "step"
    SCHEDULE = "schedule"
    ASKED = "asked"


class CaptureState(StrEnum):
    """How far a capture has come."""

    CAPTURING = "capturing"
    ANALYSING = "analysing"
    DONE = "done"
    FAILED = "failed"


@dataclass(frozen=True, kw_only=True, slots=True)
class Trigger:
    """What asks for a capture.

    Attributes:
        step: the last step that had ended on all ranks.
        rank: the one that lags, or stalls where the others do not; None where it is about all of them.
        before_ns, now_ns: the step time (of a lag: the time outside backward, of the median rank and of this one) that
            was usual, and the one that was seen; None where no step times are the reason.
        sentence: the reason in words, with both numbers.
    """

    kind: TriggerKind
    step: int
    sentence: str
    rank: int | None = None
    before_ns: int | None = None
    now_ns: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptureRecord:
    """One capture of a watch.

    Attributes:
        number: from 1.
        started_at, ended_at: seconds since 1970; None while that has not happened.
        first_step, end_step: the whole steps in it, on rank 0 of this node: first up to, not including, end.
        folder: its own, relative to the watch's; holds report.nsys-rep, report.sqlite, analysis.json, report.html
            and, where there is a healthy capture to compare with, change.txt and change.json.
        headline: the first finding's title, of a lag the first about a slow rank; the verdict where there is none.
        change: what changed since the healthy capture: for the GPUs, else for the training processes.
        trouble: why it failed, or what could not be done.
    """

    number: int
    trigger: Trigger
    state: CaptureState
    started_at: float
    ended_at: float | None = None
    first_step: int | None = None
    end_step: int | None = None
    folder: str = ""
    headline: str | None = None
    change: str | None = None
    trouble: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TimesRow:
    """Step times of one rank over some seconds.

    Attributes:
        at: seconds since 1970, at their end.
        step: the number of the last one, from 0.
        steps: how many there were.
        apart_ns: the median time outside backward, where ranks wait for each other.
        is_disturbed: whether a capture or its analysis was under way, so that nothing is judged by them.
    """

    at: float
    rank: int
    step: int
    steps: int
    mean_ns: int
    p50_ns: int
    p99_ns: int
    longest_ns: int
    apart_ns: int
    is_disturbed: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Event:
    """Something that happened, in words.

    Attributes:
        at: seconds since 1970.
        capture: the number of the capture that it is about.
    """

    at: float
    text: str
    capture: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchState:
    """The watch itself.

    Attributes:
        name: of the training, as the folder is named after it.
        pid: of the watch, on `host`.
        started_at, ended_at: seconds since 1970.
        usual_ns: the step time that later ones are held against; None while it is being learnt.
        training_exit_code: None while the training runs, or where nobody knows it.
    """

    name: str
    command: tuple[str, ...]
    host: str
    pid: int
    started_at: float
    ended_at: float | None = None
    usual_ns: int | None = None
    training_exit_code: int | None = None
    captures: tuple[CaptureRecord, ...] = ()
