"""The process that prepares one profile: `python -m dashboards.jobs.work STORE JOB`, started by a server."""

from __future__ import annotations

import os
import shutil
import signal
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from dashboards.store.identity import trouble_with
from dashboards.store.records import JobState
from dashboards.store.rows import known_files
from dashboards.store.store import Store
from dashboards.store.work import Work
from gapfinder.errors import GapfinderError, InputError, PlaceError
from gapfinder.export.cache import ENVIRONMENT_NAME as CACHE_NAME
from gapfinder.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from dashboards.store.records import Job

STORE_UNUSABLE = os.EX_TEMPFAIL
"""Exit code of a worker that cannot write to the store."""

_NICENESS = 10
_TOLD_EVERY_S = 0.2


def work(store: Store, job: str) -> None:
    """Prepare the profile of a job, and say in the store how far it is and what became of it."""
    jobs = Work(store)
    now = jobs.job(job)
    if now is None or now.state is not JobState.RUNNING:
        return
    message = _failure(store, jobs, now, scratch=store.places.scratch / job)
    if message is not None:
        jobs.fail(job, message=message)
        return
    ended = jobs.job(job)
    if ended is not None and ended.state is JobState.DONE:
        _record(store, now.profile)


def _failure(store: Store, jobs: Work, now: Job, *, scratch: Path) -> str | None:
    """Do a job; return why it failed, once all that it wrote is gone, as a full disk takes no word of it before."""
    try:
        store.places.discard(scratch)
        scratch.mkdir(mode=0o700)
        _write_into(scratch, keeps_exports=not store.profile(now.profile).is_uploaded)
        _prepare(store, now, folder=scratch / "prepared", told=_teller(jobs, now.id))
        jobs.complete(now.id, prepared=scratch / "prepared")
    except PlaceError as error:  # a folder in the store, or the user's cache: no variable of the reader's
        return f"{error.wrong}; make room there, then try again"
    except GapfinderError as error:
        return " ".join(str(error).split())
    except OSError as error:
        return f"cannot be kept in {store.places.folder}: {error.strerror}; make room, then try again"
    except MemoryError:
        return "needs more memory than there is; make the profile of fewer files, or use a larger machine"
    else:
        return None
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _write_into(scratch: Path, *, keeps_exports: bool) -> None:
    """Let all that is written on the way go with the job, however it ends; exports of what was uploaded as well."""
    os.environ["TMPDIR"] = str(scratch)
    if not keeps_exports:
        os.environ[CACHE_NAME] = str(scratch / "exports")


def _prepare(store: Store, job: Job, *, folder: Path, told: Callable[[str, float | None], None]) -> None:
    from dashboards.data.preparing import prepare_profile

    with store.ledger.reading() as database:
        files = known_files(database, profile=job.profile)[job.profile]
    for _ in range(2):  # before, and once more after: what is kept under this content's name is of this content
        trouble = trouble_with(files)
        if trouble is not None:
            raise InputError(trouble)
        if not folder.exists():
            prepare_profile([file.path for file in files], folder=folder, settings=Settings(), told=told)


def _record(store: Store, profile: str) -> None:
    """Make a run of what is prepared; where it cannot be one, the page of trends says why."""
    from dashboards.data.opening import open_prepared
    from dashboards.data.recording import record_profile

    with suppress(GapfinderError):
        record_profile(open_prepared(store.profile(profile)), history=store.places.history)


def _teller(jobs: Work, job: str) -> Callable[[str, float | None], None]:
    """Return what tells the store of progress: every new stage, and not every percent."""
    last = (float("-inf"), "")

    def tell(stage: str, progress: float | None) -> None:
        nonlocal last
        now = time.monotonic()
        if stage != last[1] or now - last[0] > _TOLD_EVERY_S:
            last = (now, stage)
            jobs.tell(job, stage=stage, progress=progress)

    return tell


def _end_with_server() -> None:
    """End this process and all that it started as soon as the server is gone: its end of the pipe closes."""
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGKILL)


def main(folder: str, job: str) -> None:
    """Work on one job with little priority; standard input is a pipe from the server that asked for it."""
    threading.Thread(target=_end_with_server, daemon=True).start()
    os.nice(_NICENESS)
    try:
        work(Store(Path(folder)), job)
    except InputError:  # the store takes no word of what became of it
        sys.exit(STORE_UNUSABLE)


if __name__ == "__main__":
    main(*sys.argv[1:])
