"""Jobs: progress, cancel, limits, lost workers and servers, and a server that lives on."""

from __future__ import annotations

import os
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from dashboards.jobs.limits import JobLimits, memory_of
from dashboards.jobs.queue import Queue
from dashboards.jobs.runner import Runner
from dashboards.store.leftovers import sweep
from dashboards.store.records import JobState
from dashboards.store.store import Store
from dashboards.store.work import Work
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from dashboards.store.records import Job

LIMITS = JobLimits(at_once=1, memory_bytes=200_000_000, seconds=30)
PATIENCE_S = 60


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "store")
    yield store
    store.close()


@contextmanager
def running(store: Store, limits: JobLimits = LIMITS) -> Iterator[Runner]:
    runner = Runner(store, limits=limits, worker="dashboard_worker")
    runner.start()
    try:
        yield runner
    finally:
        runner.stop()


@pytest.fixture(autouse=True)
def _found_by_workers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).parents[1]))


def submitted(store: Store, folder: Path, what: str) -> str:
    """Queue a profile whose file says what its worker does; return the profile."""
    file = folder / f"{what}.sqlite"
    file.write_text(what)
    profile = store.add([file]).id
    Queue(store).submit(profile)
    return profile


def awaited(store: Store, profile: str, is_reached: Callable[[Job], bool]) -> Job:
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        job = store.profile(profile).job
        if is_reached(job):
            return job
        time.sleep(0.05)
    pytest.fail(f"still {job}")


def ended(job: Job) -> bool:
    return job.state not in (JobState.QUEUED, JobState.RUNNING)


def awaited_empty(folder: Path) -> None:
    """Wait until what a job wrote on its way is gone, without another start of a server."""
    deadline = time.monotonic() + PATIENCE_S
    while any(folder.iterdir()) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert list(folder.iterdir()) == []


def is_alive(pid: int) -> bool:
    try:
        return "Z" not in Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False


FAILURES = {
    "bad": "bad.sqlite: is cut off: 9 bytes of 10",
    "bug": "a fault of gapfinder; the server's output shows where, please report it",
    "full": "No space left on device",
    "packed": "packed.sqlite.gz: no room to unpack it; make room there, then try again",
    "untold": "could not write to its folder, as on a full disk; make room, then try again",
    "changed": "changed since it was added",
}


def test_what_can_be_prepared_is_ready_and_what_cannot_says_why(store, tmp_path, monkeypatch):
    monkeypatch.setenv("GAPFINDER_TOKEN", "an-example-of-a-token")
    profiles = {what: submitted(store, tmp_path, what) for what in (*FAILURES, "secret")}
    with running(store, replace(LIMITS, at_once=3)):
        jobs = {what: awaited(store, profile, ended) for what, profile in profiles.items()}
    good = jobs.pop("secret")
    assert (good.state, good.progress, good.attempts) == (JobState.DONE, 1.0, 1)
    assert {job.state for job in jobs.values()} == {JobState.FAILED}
    assert [what for what, message in FAILURES.items() if message not in jobs[what].message] == []
    assert [profile.is_ready for profile in store.profiles()] == [True] + [False] * len(FAILURES)
    (folder,) = store.places.prepared.iterdir()
    assert (folder.name, sorted(path.name for path in folder.iterdir())) == (profiles["secret"], ["half", "whole"])
    assert (folder / "whole").read_text() == "no token"  # a worker has no need to know it
    assert list(store.places.scratch.iterdir()) == []


def test_a_file_that_is_back_can_be_prepared(store, tmp_path):
    """Back as it was it needs only another try; a copy of it has to be added, which makes no second profile."""
    profile, path, away = submitted(store, tmp_path, "good"), tmp_path / "good.sqlite", tmp_path / "away"
    path.rename(away)
    with running(store):
        gone = awaited(store, profile, ended)
        assert (gone.state, gone.message) == (JobState.FAILED, store.profile(profile).trouble)
        assert "good.sqlite is no longer there; put it back" in gone.message
        path.write_bytes(away.read_bytes())
        Queue(store).submit(profile)
        assert "changed since it was added; add it again" in awaited(store, profile, ended).message
        assert store.add([path]).id == profile
        path.rename(tmp_path / "again")
        (tmp_path / "again").rename(path)
        Queue(store).submit(profile)
        assert awaited(store, profile, ended).state is JobState.DONE
    path.unlink()
    (stored,) = store.profiles()
    assert (stored.is_ready, "what was measured before stays" in stored.trouble) == (True, True)


def test_a_lost_worker_is_tried_once_more(store, tmp_path):
    once, twice = submitted(store, tmp_path, "killed_once"), submitted(store, tmp_path, "killed")
    with running(store):
        assert awaited(store, once, ended).attempts == 2
        lost = awaited(store, twice, ended)
    assert store.profile(once).is_ready
    assert (lost.state, lost.attempts, "was lost twice" in lost.message) == (JobState.FAILED, 2, True)


def test_cancel_kills_the_worker_and_what_it_started(store, tmp_path, monkeypatch):
    cache = tmp_path / "cache"
    monkeypatch.setenv("GAPFINDER_CACHE", str(cache))
    half = cache / ".1f-00.sqlite.abcd1234"
    profile = submitted(store, tmp_path, "endless")
    marker = tmp_path / "endless.marker"
    with running(store):
        job = awaited(store, profile, lambda job: job.stage == "measuring endless.sqlite" and marker.exists())
        assert (job.progress, job.started_s is not None) == (0.5, True)
        worker, child = map(int, marker.read_text().split())
        assert is_alive(worker)
        assert is_alive(child)
        half.mkdir(parents=True)
        (cache / "1f-00.sqlite.lock").touch()
        Queue(store).cancel(job.id)
        assert store.profile(profile).job.state is JobState.CANCELLED
        deadline = time.monotonic() + PATIENCE_S
        while (is_alive(worker) or is_alive(child)) and time.monotonic() < deadline:
            time.sleep(0.05)
        awaited_empty(store.places.scratch)
        assert not half.exists()
    assert not is_alive(worker)
    assert not is_alive(child)
    assert store.profile(profile).job.state is JobState.CANCELLED
    Queue(store).cancel(job.id)
    again = Queue(store).submit(profile)
    assert (again.state, again.id != job.id) == (JobState.QUEUED, True)


def test_too_much_memory_ends_a_job(store, tmp_path):
    profile = submitted(store, tmp_path, "hungry")
    with running(store):
        job = awaited(store, profile, ended)
    assert (
        job.state,
        "more than the 200.0 MB of memory that a job may take; start the dashboard with a larger --memory"
        in job.message,
    ) == (JobState.FAILED, True)


def test_too_much_time_ends_a_job(store, tmp_path):
    profile = submitted(store, tmp_path, "endless")
    with running(store, replace(LIMITS, seconds=0.1)):
        job = awaited(store, profile, ended)
    assert (job.state, "longer than the 100.0 ms" in job.message) == (JobState.FAILED, True)


def test_a_worker_ends_with_its_server_which_gives_its_job_back(store, tmp_path):
    profile = submitted(store, tmp_path, "endless")
    marker = tmp_path / "endless.marker"
    with running(store) as runner:
        awaited(store, profile, lambda job: job.stage.startswith("measuring") and marker.exists())
        worker, child = map(int, marker.read_text().split())
        runner._workers[0].process.stdin.close()  # as the system does for a server that is killed
        awaited(store, profile, lambda job: job.attempts == 2 or job.state is JobState.QUEUED)
        assert not is_alive(worker)
        assert not is_alive(child)
        awaited(store, profile, lambda job: job.attempts == 2)
    job = store.profile(profile).job
    assert (job.state, job.attempts) == (JobState.QUEUED, 1)


def test_a_job_of_a_killed_server_is_found_by_another(store, tmp_path):
    profile = submitted(store, tmp_path, "good")
    claim = Work(store).claim(most=1)
    other = Store(store.places.folder)
    Work(other).find_lost()
    assert other.profile(profile).job.state is JobState.RUNNING
    claim.lock.close()  # as the system does when the server and its worker are killed
    Work(other).find_lost()
    assert other.profile(profile).job.state is JobState.QUEUED
    again = Work(other).claim(most=1)
    assert other.profile(profile).job.attempts == 2
    again.lock.close()
    Work(store).find_lost()
    assert store.profile(profile).job.state is JobState.FAILED
    other.close()


def test_a_worker_is_lost_once_when_two_servers_see_it(store, tmp_path):
    """What the second one sees must not be told of the attempt that the first one has begun since."""
    profile = submitted(store, tmp_path, "endless")
    runner, other = Runner(store, limits=LIMITS, worker="dashboard_worker"), Store(store.places.folder)
    (worker,) = runner._started(Work(store).claim(most=1))
    worker.process.kill()
    os.waitid(os.P_PID, worker.process.pid, os.WEXITED | os.WNOWAIT)
    Work(other).find_lost()
    assert store.profile(profile).job.state is JobState.RUNNING
    assert runner._goes_on(worker) is False
    again = Work(other).claim(most=1)
    assert again.job.profile == profile
    again.lock.close()
    other.close()


def test_a_job_is_taken_once_and_no_more_than_allowed_run(store, tmp_path):
    first, second = submitted(store, tmp_path, "good"), submitted(store, tmp_path, "bad")
    other = Store(store.places.folder)
    claim = Work(store).claim(most=1)
    assert (claim.job.profile, Work(other).claim(most=1)) == (first, None)
    beside = Work(other).claim(most=2)
    assert beside.job.profile == second
    assert Work(store).claim(most=9) is None
    for held in (claim, beside):
        held.lock.close()
    other.close()


def test_a_profile_has_one_job_under_way(store, tmp_path):
    profile = submitted(store, tmp_path, "good")
    assert Queue(store).submit(profile) == store.profile(profile).job
    assert len(store.jobs()) == 1
    with pytest.raises(InputError, match="no such profile"):
        Queue(store).submit("0" * 32)


def test_a_profile_removed_meanwhile_leaves_nothing(store, tmp_path):
    profile = submitted(store, tmp_path, "endless")
    marker = tmp_path / "endless.marker"
    with running(store):
        awaited(store, profile, lambda job: job.stage.startswith("measuring") and marker.exists())
        store.remove(profile)
        worker = int(marker.read_text().split()[0])
        deadline = time.monotonic() + PATIENCE_S
        while is_alive(worker) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not is_alive(worker)
        awaited_empty(store.places.scratch)
    assert store.jobs() == []
    sweep(store)
    assert [*store.places.scratch.iterdir(), *store.places.prepared.iterdir(), *store.places.locks.iterdir()] == []


def test_memory_is_that_of_the_whole_group():
    kept = bytearray(50_000_000)
    assert memory_of(os.getpgrp()) > len(kept)
    assert memory_of(2**22 + 1) == 0
