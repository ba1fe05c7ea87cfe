"""Rows of the store's database as the values that everything else works with."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dashboards.store.identity import KnownFile, trouble_with
from dashboards.store.records import Job, JobState, StoredProfile, Upload
from gapfinder.load.checks import FileState

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from sqlite_utils import Database

    from dashboards.store.places import Places

    Row = Mapping[str, Any]  # as sqlite-utils gives it; it ends here

NEWEST_JOBS = "SELECT jobs.*, max(rowid) FROM jobs GROUP BY profile"
"""The newest job of each profile: SQLite takes the other columns from the row with the maximum."""


def job_of(row: Row) -> Job:
    """Return a row of `jobs`."""
    return Job(**{name: row[name] for name in Job.__slots__ if name != "state"}, state=JobState(row["state"]))


def upload_of(row: Row) -> Upload:
    """Return a row of `uploads`."""
    return Upload(**{name: row[name] for name in Upload.__slots__})


def known_files(
    database: Database, *, profile: str | None = None, query: str | None = None, values: Sequence[str] = ()
) -> Mapping[str, list[KnownFile]]:
    """Return files in order by profile: of all profiles, of one, or what a query finds."""
    if query is None:
        query = "SELECT * FROM files" if profile is None else "SELECT * FROM files WHERE profile = ?"
        values = [] if profile is None else [profile]
    found: defaultdict[str, list[KnownFile]] = defaultdict(list)
    for row in database.query(f"{query} ORDER BY profile, position", list(values)):
        state = FileState(row["size_bytes"], row["modified_ns"], row["inode"])
        found[row["profile"]].append(KnownFile(path=Path(row["path"]), state=state, sha256=row["sha256"]))
    return found


def stored_profile(row: Row, *, files: Sequence[KnownFile], job: Job | None, places: Places) -> StoredProfile:
    """Return a row of `profiles` with what belongs to it."""
    return StoredProfile(
        id=row["id"],
        name=row["name"],
        labels=tuple(json.loads(row["labels"])),
        files=tuple(file.path for file in files),
        is_uploaded=bool(row["is_uploaded"]),
        size_bytes=row["size_bytes"],
        added_s=row["added_s"],
        job=job,
        folder=places.prepared / row["id"],
        trouble=None if row["is_uploaded"] else trouble_with(files),
    )
