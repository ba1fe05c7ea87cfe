"""Takes profiles to prepare, and hands them to worker processes one after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dashboards.store.records import Job
    from dashboards.store.store import Store


class Queue:
    """Jobs of one store. Servers that share it share its jobs: each job is run by one of them."""

    def __init__(self, store: Store) -> None:
        raise NotImplementedError

    def submit(self, profile: str) -> Job:
        """Queue the preparation of a profile; the job under way where there is one."""
        raise NotImplementedError

    def cancel(self, job: str) -> None:
        """End a job that is queued or runs; nothing happens to one that has ended."""
        raise NotImplementedError
