"""The store: profiles, labels, jobs and uploads in one SQLite database, beside the folders that hold their files."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from dashboards.store.records import Job, StoredProfile


class Store:
    """One folder that several servers may share; any thread may ask, each with a connection of its own."""

    def __init__(self, folder: Path) -> None:
        raise NotImplementedError

    def profiles(self) -> list[StoredProfile]:
        """Return all profiles, newest first."""
        raise NotImplementedError

    def profile(self, profile: str) -> StoredProfile:
        """Return one profile; InputError that a reader understands where there is none."""
        raise NotImplementedError

    def add(self, files: Sequence[Path], *, name: str | None = None) -> StoredProfile:
        """Take in files that stay where they are; the same content again is the profile that is there already."""
        raise NotImplementedError

    def rename(self, profile: str, *, name: str) -> None:
        """Give a profile another name."""
        raise NotImplementedError

    def label(self, profile: str, *, labels: Sequence[str]) -> None:
        """Give a profile these labels in place of those it had."""
        raise NotImplementedError

    def remove(self, profile: str) -> None:
        """Remove a profile with its prepared data, and with its files where they were uploaded."""
        raise NotImplementedError

    def jobs(self) -> list[Job]:
        """Return all jobs, newest first."""
        raise NotImplementedError
