"""Jobs as the store keeps them: who takes the next one, how far it is, and what became of it, over all servers."""

from __future__ import annotations

import fcntl
import secrets
import time
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

from dashboards.store.records import JobState
from dashboards.store.rows import job_of
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

    from sqlite_utils import Database

    from dashboards.store.records import Job
    from dashboards.store.store import Store

MOST_ATTEMPTS = 2
_LOST = (
    "the process that prepared it was lost twice (killed from outside, out of memory, or with its server); "
    "try again, or look at the file with `gapfinder analyze`"
)


@dataclass(frozen=True, slots=True)
class Claim:
    """A job that one server runs.

    Attributes:
        lock: an open file that its worker has as well; while either holds it, no other server takes the job for lost.
    """

    job: Job
    lock: IO[bytes]


class Work:
    """The jobs of one store."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def submit(self, profile: str) -> Job:
        """Queue the preparation of a profile; the job under way where there is one."""
        self._store.profile(profile)
        row = {
            "id": secrets.token_hex(8),
            "profile": profile,
            "state": JobState.QUEUED,
            "stage": "waiting for its turn",
            "progress": None,
            "message": None,
            "started_s": None,
            "changed_s": time.time(),
            "attempts": 0,
        }
        with self._store.ledger.transaction() as database:
            query = "SELECT * FROM jobs WHERE profile = ? AND state IN (?, ?)"
            known = next(map(job_of, database.query(query, [profile, JobState.QUEUED, JobState.RUNNING])), None)
            if known is not None:
                return known
            database.table("jobs").insert(row)
        return job_of(row)

    def job(self, job: str) -> Job | None:
        """Return a job as it is now; None where it went with its profile."""
        with self._store.ledger.reading() as database:
            return _job(database, job)

    def cancel(self, job: str) -> None:
        """End a job that is queued or runs; the server that runs it kills its worker."""
        for state in (JobState.QUEUED, JobState.RUNNING):
            self._change(job, of=state, state=JobState.CANCELLED, stage="cancelled")

    def claim(self, *, most: int) -> Claim | None:
        """Take the oldest queued job unless `most` run already; None where there is nothing to take."""
        with self._store.ledger.transaction() as database:
            (running,) = database.execute("SELECT count(*) FROM jobs WHERE state = ?", [JobState.RUNNING]).fetchone()
            query = "SELECT * FROM jobs WHERE state = ? ORDER BY rowid LIMIT 1"
            job = next(map(job_of, database.query(query, [JobState.QUEUED])), None)
            if running >= most or job is None:
                return None
            lock = _locked(self._lock_of(job.id))
            if lock is None:  # the worker of an earlier attempt has not ended yet
                return None
            now = time.time()
            changes = {
                "state": JobState.RUNNING,
                "stage": "starting",
                "progress": None,
                "started_s": now,
                "changed_s": now,
                "attempts": job.attempts + 1,
            }
            database.table("jobs").update(job.id, changes)
        return Claim(job, lock)

    def tell(self, job: str, *, stage: str, progress: float | None) -> None:
        """Say what a job does and how far it is."""
        self._change(job, stage=stage, progress=progress)

    def complete(self, job: str, *, prepared: Path) -> None:
        """Put what a job prepared in its profile's place, which shows it; nothing happens where it was cancelled."""
        places = self._store.places
        with self._store.ledger.transaction() as database:
            now = _job(database, job)
            if now is None or now.state is not JobState.RUNNING:
                return
            place = places.prepared / now.profile
            places.discard(place)
            prepared.rename(place)
            changes = {"state": JobState.DONE, "stage": "ready", "progress": 1.0, "changed_s": time.time()}
            database.table("jobs").update(job, changes)
        places.empty_trash()

    def fail(self, job: str, *, message: str) -> None:
        """End a running job with one line for a reader."""
        self._change(job, state=JobState.FAILED, stage="failed", message=message)

    def give_back(self, claimed: Job) -> None:
        """Queue a job again whose server ends; it does not count as an attempt."""
        stage = "waiting for its turn"
        self._change(claimed.id, state=JobState.QUEUED, stage=stage, progress=None, attempts=claimed.attempts)

    def lose(self, job: str) -> None:
        """Say that a running job's worker was lost: it is tried once more."""
        now = self.job(job)
        if now is not None and now.attempts < MOST_ATTEMPTS:
            self._change(job, state=JobState.QUEUED, stage="waiting to be tried once more", progress=None)
        else:
            self.fail(job, message=_LOST)

    def find_lost(self) -> None:
        """Find running jobs that nobody is at work on, as of a server that was killed."""
        with self._store.ledger.reading() as database:
            running = list(map(job_of, database.query("SELECT * FROM jobs WHERE state = ?", [JobState.RUNNING])))
        for job in running:
            lock = _locked(self._lock_of(job.id))
            if lock is not None:
                with lock:
                    self.lose(job.id)

    def _lock_of(self, job: str) -> Path:
        return self._store.places.locks / job

    def _change(self, job: str, *, of: JobState = JobState.RUNNING, **changes: str | float | None) -> None:
        """Change a job that is in a state, and no other."""
        with self._store.ledger.transaction() as database:
            now = _job(database, job)
            if now is not None and now.state is of:
                database.table("jobs").update(job, changes | {"changed_s": time.time()})


def _job(database: Database, job: str) -> Job | None:
    return next(map(job_of, database.query("SELECT * FROM jobs WHERE id = ?", [job])), None)


def _locked(path: Path) -> IO[bytes] | None:
    """Return the file, locked; None where another process holds it. The lock ends with the last process that has it."""
    try:
        file = path.open("wb")
    except OSError as error:
        raise InputError(f"the dashboard cannot write to its folder: {error.strerror}") from error
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        file.close()
        return None
    return file
