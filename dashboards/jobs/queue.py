"""Takes profiles to prepare; the workers of the servers that share the store prepare one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboards.store.work import Work

if TYPE_CHECKING:
    from dashboards.store.records import Job
    from dashboards.store.store import Store


class Queue:
    """Jobs of one store. Servers that share it share its jobs: each job is run by one of them."""

    def __init__(self, store: Store) -> None:
        self._work = Work(store)

    def submit(self, profile: str) -> Job:
        """Queue the preparation of a profile; the job under way where there is one."""
        return self._work.submit(profile)

    def cancel(self, job: str) -> None:
        """End a job that is queued or runs; nothing happens to one that has ended."""
        self._work.cancel(job)
