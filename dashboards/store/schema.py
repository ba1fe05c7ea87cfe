"""The tables of the store's database."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sqlite_utils import Database

APPLICATION_ID = 0x67617064
"""SQLite's mark of whose file it is: "gapd"."""

_PROFILES: Mapping[str, type] = {
    "id": str,
    "name": str,
    "labels": str,  # JSON
    "is_uploaded": int,
    "run": str,  # the uploads it was made of last
    "size_bytes": int,
    "added_s": float,
}
_FILES: Mapping[str, type] = {
    "profile": str,
    "position": int,
    "path": str,
    "size_bytes": int,
    "modified_ns": int,
    "inode": int,
    "sha256": str,
}
_JOBS: Mapping[str, type] = {
    "id": str,
    "profile": str,
    "state": str,
    "stage": str,
    "progress": float,
    "message": str,
    "started_s": float,
    "changed_s": float,
    "attempts": int,
}
_UPLOADS: Mapping[str, type] = {
    "id": str,
    "name": str,
    "size_bytes": int,
    "offset_bytes": int,
    "run": str,
    "position": int,
    "sha256": str,  # null until all of it is here and was compared
    "changed_s": float,
}
_MAY_BE_NULL = {"run", "progress", "message", "started_s", "sha256"}
_OF_PROFILE = [("profile", "profiles", "id")]


def _first_version(database: Database) -> None:
    _create(database, "profiles", _PROFILES, key="id")
    _create(database, "files", _FILES, key=("profile", "position"), foreign_keys=_OF_PROFILE)
    _create(database, "jobs", _JOBS, key="id", foreign_keys=_OF_PROFILE)
    _create(database, "uploads", _UPLOADS, key="id")
    database.table("uploads").create_index(["run", "position"], unique=True)
    database.table("jobs").create_index(["profile"])


def _create(
    database: Database,
    name: str,
    columns: Mapping[str, type],
    *,
    key: str | tuple[str, ...],
    foreign_keys: list[tuple[str, str, str]] | None = None,
) -> None:
    nullable = _MAY_BE_NULL if name != "uploads" else {"sha256"}
    database.table(name).create(
        dict(columns),
        pk=key,
        not_null=set(columns) - nullable,
        foreign_keys=foreign_keys or [],
        strict=True,
    )


MIGRATIONS: tuple[Callable[[Database], None], ...] = (_first_version,)
"""What makes each version of the database from the one before it; its version is how many it went through."""
