"""What the store says about a profile, a job and an upload: frozen rows of its database."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class JobState(StrEnum):
    """What became of a job; the last three are final."""

    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """The preparation of one profile: export, measure, keep for the timeline.

    Attributes:
        id: random text.
        profile: id of the profile that is prepared.
        stage: what it is doing, one sentence for a reader ("exporting rank0.nsys-rep").
        progress: from 0 to 1; None where nobody can tell.
        message: why it failed, one line for a reader; None otherwise.
        started_s, changed_s: seconds since 1970; None before it started.
        attempts: how often it was begun; a worker that was lost is tried once more.
    """

    id: str
    profile: str
    state: JobState
    stage: str
    progress: float | None
    message: str | None
    started_s: float | None
    changed_s: float
    attempts: int


@dataclass(frozen=True, kw_only=True, slots=True)
class StoredProfile:
    """One run of a training as the store knows it: one report, or several of one job.

    Attributes:
        id: hexadecimal digits made from the content of its files; the same files are the same profile.
        name: what a reader calls it.
        labels: words that a reader gave it, sorted.
        files: where they are; inside the store when uploaded, else where the user keeps them.
        is_uploaded: its files belong to the store and go with it.
        size_bytes: of its files.
        added_s: seconds since 1970.
        job: the newest job that prepared it; None where that is still to come.
        folder: where its prepared data lie; only a profile whose job is done has them.
        trouble: one sentence where files that the user keeps have changed or gone since; None otherwise.
    """

    id: str
    name: str
    labels: tuple[str, ...]
    files: tuple[Path, ...]
    is_uploaded: bool
    size_bytes: int
    added_s: float
    job: Job | None
    folder: Path
    trouble: str | None = None

    @property
    def is_ready(self) -> bool:
        """Say whether it can be opened."""
        return self.job is not None and self.job.state is JobState.DONE


@dataclass(frozen=True, kw_only=True, slots=True)
class Upload:
    """A file on its way in.

    Attributes:
        id: random text.
        name: file name as its owner calls it; never used as a path.
        size_bytes: whole size as told at the start.
        offset_bytes: how much of it is here, checked.
        run: uploads of one text become one profile.
        changed_s: seconds since 1970; an upload that nobody touches for a day is removed.
    """

    id: str
    name: str
    size_bytes: int
    offset_bytes: int
    run: str
    changed_s: float
