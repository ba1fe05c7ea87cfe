"""Starts workers for queued jobs, and ends those that were cancelled, take too much, or whose server ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import dashboards
from dashboards.jobs.limits import limits_here, memory_of
from dashboards.jobs.work import STORE_UNUSABLE
from dashboards.store.records import JobState
from dashboards.store.work import Work
from gapfinder.errors import InputError
from gapfinder.export.cache import remove_half_made
from gapfinder.units import NS_PER_S, format_bytes, format_duration

if TYPE_CHECKING:
    from dashboards.jobs.limits import JobLimits
    from dashboards.store.store import Store
    from dashboards.store.work import Claim

_LOOKS_EVERY_S = 0.2
_LOOKS_FOR_LOST_EVERY_S = 2.0
_SECRETS = ("GAPFINDER_TOKEN",)
_NO_WORD = "the dashboard could not write to its folder, as on a full disk; make room, then try again"
_FAULT = "a fault of gapfinder; the server's output shows where, please report it"


@dataclass(frozen=True, slots=True)
class _Worker:
    claim: Claim
    process: subprocess.Popen[bytes]
    started_s: float


class Runner:
    """The workers of one server, watched by a thread of their own between `start` and `stop`."""

    def __init__(self, store: Store, *, limits: JobLimits | None = None, worker: str = "dashboards.jobs.work") -> None:
        self._store = store
        self._worker = worker
        self._work = Work(store)
        self._limits = limits or limits_here()
        self._workers: list[_Worker] = []
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="jobs", daemon=True)

    def start(self) -> None:
        """Begin to take jobs."""
        self._thread.start()

    def stop(self) -> None:
        """Kill the workers and queue their jobs again; returns when that is done."""
        self._stopping.set()
        self._thread.join()

    def _run(self) -> None:
        looked_for_lost = float("-inf")
        while not self._stopping.wait(_LOOKS_EVERY_S):
            # a store that cannot be used now, such as on a full disk, is asked again
            with suppress(InputError):
                self._workers = [worker for worker in self._workers if self._goes_on(worker)]
                if time.monotonic() - looked_for_lost > _LOOKS_FOR_LOST_EVERY_S:
                    looked_for_lost = time.monotonic()
                    self._work.find_lost()
                claim = self._work.claim(most=self._limits.at_once)
                if claim is not None:
                    self._workers += self._started(claim)
        for worker in self._workers:
            _kill(worker)
            with suppress(InputError), worker.claim.lock:
                self._clear(worker)
                self._work.give_back(worker.claim.job)

    def _started(self, claim: Claim) -> list[_Worker]:
        """Return the worker that was started for a job; none where the system starts none, which fails the job."""
        root = str(Path(dashboards.__file__).parents[1])
        environment = {name: value for name, value in os.environ.items() if name not in _SECRETS}
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, (root, environment.get("PYTHONPATH"))))
        try:
            process = subprocess.Popen(  # noqa: S603 (this Python and our own module)
                (sys.executable, "-P", "-m", self._worker, self._store.places.folder, claim.job.id),
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                env=environment,
                pass_fds=(claim.lock.fileno(),),
                start_new_session=True,
            )
        except OSError as error:
            with claim.lock:
                self._work.fail(
                    claim.job.id, message=f"no process can be started for it: {error.strerror}; try again later"
                )
            return []
        return [_Worker(claim, process, time.monotonic())]

    def _goes_on(self, worker: _Worker) -> bool:
        """Look after one worker; say whether it still runs."""
        has_ended = _has_ended(worker)
        reason = None if has_ended else self._reason_to_end(worker)
        if not has_ended and reason is None:
            return True
        status, job = _kill(worker), worker.claim.job.id
        self._clear(worker)
        if reason is None and status <= 0:  # it was killed; or all is said, and this changes nothing
            self._work.lose(job)
        else:
            self._work.fail(job, message=reason or (_NO_WORD if status == STORE_UNUSABLE else _FAULT))
        worker.claim.lock.close()
        return False

    def _clear(self, worker: _Worker) -> None:
        """Delete what a worker that has ended wrote on its way, in the store and in the user's cache of exports."""
        remove_half_made()
        self._store.places.delete(self._store.places.scratch / worker.claim.job.id)

    def _reason_to_end(self, worker: _Worker) -> str | None:
        """Return why a worker has to end; one that was cancelled is said to be so already."""
        job = self._work.job(worker.claim.job.id)
        if job is None or job.state not in {JobState.RUNNING, JobState.DONE}:  # done: it records its run, and ends
            return "cancelled"
        limit = self._limits
        if time.monotonic() - worker.started_s > limit.seconds:
            longest = format_duration(round(limit.seconds * NS_PER_S))
            return f"took longer than the {longest} that a job may take; make the profile of fewer files"
        if memory_of(worker.process.pid) > limit.memory_bytes:
            most = format_bytes(limit.memory_bytes)
            return (
                f"needed more than the {most} of memory that a job may take; start the dashboard with a larger --memory"
            )
        return None


def _has_ended(worker: _Worker) -> bool:
    """Say whether a worker has ended; its number stays its own until `_kill`, so that nobody else's group is killed."""
    if worker.process.returncode is not None:
        return True
    return os.waitid(os.P_PID, worker.process.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _kill(worker: _Worker) -> int:
    """Kill what there is of a worker and of what it started; return how the worker ended."""
    process = worker.process
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        if process.stdin is not None:
            process.stdin.close()
    return process.returncode or 0
