"""The store: profiles, labels, jobs and uploads in one SQLite database, beside the folders that hold their files."""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from dashboards.store.identity import KnownFile, identify, profile_id
from dashboards.store.ledger import Ledger
from dashboards.store.places import Places
from dashboards.store.rows import NEWEST_JOBS, job_of, known_files, stored_profile
from gapfinder.errors import InputError, visible
from gapfinder.load.checks import file_state
from gapfinder.load.find import PROFILE_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from sqlite_utils import Database

    from dashboards.store.records import Job, StoredProfile

_LONGEST_NAME = 200
_MOST_LABELS = 50


class Store:
    """One folder that several servers may share; any thread may ask, each with a connection of its own.

    Attributes:
        places: where in the folder what lies.
        ledger: its database; what is done in one transaction happens, or nothing.
    """

    def __init__(self, folder: Path) -> None:
        self.places = Places(folder.absolute())
        self.places.make()
        self.ledger = Ledger(self.places.database)

    def profiles(self) -> list[StoredProfile]:
        """Return all profiles, newest first."""
        with self.ledger.reading() as database:
            rows = list(database.query("SELECT * FROM profiles ORDER BY added_s DESC, rowid DESC"))
            files = known_files(database)
            jobs = {row["profile"]: job_of(row) for row in database.query(NEWEST_JOBS)}
        return [
            stored_profile(row, files=files[row["id"]], job=jobs.get(row["id"]), places=self.places) for row in rows
        ]

    def profile(self, profile: str) -> StoredProfile:
        """Return one profile; InputError that a reader understands where there is none."""
        with self.ledger.reading() as database:
            row = _row(database, profile)
            files = known_files(database, profile=profile)
            jobs = [job_of(job) for job in database.query(f"{NEWEST_JOBS} HAVING profile = ?", [profile])]
        return stored_profile(row, files=files[profile], job=next(iter(jobs), None), places=self.places)

    def add(self, files: Sequence[Path], *, name: str | None = None) -> StoredProfile:
        """Take in files that stay where they are; the same content again is the profile that is there already."""
        if not files:
            raise InputError("a profile needs at least one file")
        known = list({file.sha256: file for file in map(self._identified, files)}.values())
        profile = profile_id(file.sha256 for file in known)
        with self.ledger.transaction() as database:
            found = list(database.query("SELECT is_uploaded FROM profiles WHERE id = ?", [profile]))
            if not found:
                insert_profile(database, profile, files=known, name=name or plain_stem(known[0].path.name))
            elif not found[0]["is_uploaded"]:  # they may have moved
                database.execute("DELETE FROM files WHERE profile = ?", [profile])
                insert_files(database, profile, files=known)
        return self.profile(profile)

    def rename(self, profile: str, *, name: str) -> None:
        """Give a profile another name."""
        self._change(profile, column="name", value=readable_name(name))

    def label(self, profile: str, *, labels: Sequence[str]) -> None:
        """Give a profile these labels in place of those it had."""
        words = sorted({readable_name(label) for label in labels if label.strip()})
        if len(words) > _MOST_LABELS:
            raise InputError(f"{len(words)} labels are more than the {_MOST_LABELS} that a profile may have")
        self._change(profile, column="labels", value=json.dumps(words))

    def remove(self, profile: str) -> None:
        """Remove a profile with its prepared data, and with its files where they were uploaded."""
        with self.ledger.transaction() as database:
            _row(database, profile)
            for table, column in (("jobs", "profile"), ("files", "profile"), ("profiles", "id")):
                database.execute(f"DELETE FROM {table} WHERE {column} = ?", [profile])  # noqa: S608 (three names of ours)
        with self.ledger.transaction() as database:  # only now is that sure; the same files may be back since
            if not list(database.query("SELECT id FROM profiles WHERE id = ?", [profile])):
                self.places.discard(self.places.files / profile)
                self.places.discard(self.places.prepared / profile)
        self.places.delete()

    def jobs(self) -> list[Job]:
        """Return all jobs, newest first."""
        with self.ledger.reading() as database:
            return [job_of(row) for row in database.query("SELECT * FROM jobs ORDER BY rowid DESC")]

    def close(self) -> None:
        """Close the database; no thread may use the store any more."""
        self.ledger.close()

    def _change(self, profile: str, *, column: str, value: str) -> None:
        with self.ledger.transaction() as database:
            _row(database, profile)
            database.table("profiles").update(profile, {column: value})

    def _identified(self, path: Path) -> KnownFile:
        """Return who a file is, without reading one again that has not changed since."""
        place = path.resolve()
        state = file_state(place)
        with self.ledger.reading() as database:
            query = "SELECT * FROM files WHERE path = ?"
            known = [
                file for files in known_files(database, query=query, values=[str(place)]).values() for file in files
            ]
        same = next((file for file in known if file.state == state), None)
        return identify(place) if same is None else replace(same, path=place)


def insert_profile(
    database: Database, profile: str, *, files: Sequence[KnownFile], name: str, run: str | None = None
) -> None:
    """Write a new profile's rows; `run` are the uploads that it is made of, None where its files stay in place."""
    row = {
        "id": profile,
        "name": readable_name(name),
        "labels": "[]",
        "is_uploaded": int(run is not None),
        "run": run,
        "size_bytes": sum(file.state.size for file in files),
        "added_s": time.time(),
    }
    database.table("profiles").insert(row)
    insert_files(database, profile, files=files)


def insert_files(database: Database, profile: str, *, files: Sequence[KnownFile]) -> None:
    """Write the rows of a profile's files."""
    rows = [
        {
            "profile": profile,
            "position": position,
            "path": str(file.path),
            "size_bytes": file.state.size,
            "modified_ns": file.state.modified_ns,
            "inode": file.state.number,
            "sha256": file.sha256,
        }
        for position, file in enumerate(files)
    ]
    database.table("files").insert_all(rows)


def readable_name(text: str) -> str:
    """Return a name as it is shown: one line, nothing that steers a terminal, not too long; InputError where empty."""
    name = visible(" ".join(text.split()))[:_LONGEST_NAME]
    if not name:
        raise InputError("a name may not be empty; give it at least one letter")
    return name


def plain_stem(name: str) -> str:
    """Return a file's name without what only says its kind."""
    return next((name.removesuffix(suffix) for suffix in PROFILE_SUFFIXES if name.endswith(suffix)), name) or name


def _row(database: Database, profile: str) -> dict[str, object]:
    found = next(iter(database.query("SELECT * FROM profiles WHERE id = ?", [profile])), None)
    if found is None:
        raise InputError("there is no such profile; it may have been removed, see the list of profiles")
    return found
