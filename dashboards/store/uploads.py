"""Files on their way into the store: slice after slice, checked, and never shown before they are whole."""

from __future__ import annotations

import fcntl
import os
import re
import secrets
import time
import zlib
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING

from dashboards.store.identity import identify, profile_id
from dashboards.store.placing import place_files
from dashboards.store.room import MOST_UPLOADS, NoRoomError, Quota, check_room
from dashboards.store.rows import upload_of
from dashboards.store.store import insert_profile, plain_stem, readable_name
from gapfinder.errors import InputError
from gapfinder.load.checks import judge_head

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sqlite_utils import Database

    from dashboards.store.records import StoredProfile, Upload
    from dashboards.store.rows import Row
    from dashboards.store.store import Store

MOST_SLICE_BYTES = 16 << 20
_RUN = re.compile(r"[0-9A-Za-z_-]{8,64}")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_SNIFFED = 512
_GONE = "there is no such upload; it was cancelled or given up, start it again"


class UnknownUploadError(InputError):
    """There is no such upload."""


class RefusedSliceError(InputError):
    """A slice was not taken; `offset` is where the next one has to begin."""

    def __init__(self, message: str, *, offset: int) -> None:
        super().__init__(message)
        self.offset = offset


class MisplacedSliceError(RefusedSliceError):
    """A slice does not begin where the part that is here ends."""


class DamagedSliceError(RefusedSliceError):
    """A slice arrived with other bytes than it was sent with."""


class Uploads:
    """Uploads of one store; any thread of any server may take slices."""

    def __init__(self, store: Store, *, quota: Quota | None = None) -> None:
        self._store = store
        self._quota = quota or Quota()

    def begin(self, *, name: str, size_bytes: int, run: str, position: int = 0) -> Upload:
        """Announce a file; the upload under way where this place in the run has the same name and size already."""
        if not _RUN.fullmatch(run) or not 0 <= position < MOST_UPLOADS:
            raise InputError("an upload's run is 8 to 64 letters, digits, - or _, and its position a small number")
        if size_bytes <= 0:
            raise InputError(f"{readable_name(name)}: the file is empty; export the report again")
        with self._store.ledger.transaction() as database:
            found = database.query("SELECT * FROM uploads WHERE run = ? AND position = ?", [run, position])
            known = next(map(upload_of, found), None)
            if known is not None and (known.name, known.size_bytes) == (readable_name(name), size_bytes):
                return self._as_it_is(known)
            if known is not None:
                _forget(database, known.id)
            check_room(database, needed=size_bytes, quota=self._quota, folder=self._store.places.folder)
            row = {
                "id": secrets.token_hex(16),
                "name": readable_name(name),
                "size_bytes": size_bytes,
                "offset_bytes": 0,
                "run": run,
                "position": position,
                "sha256": None,
                "changed_s": time.time(),
            }
            database.table("uploads").insert(row)
        if known is not None:
            self._delete_parts(known.id)
        return upload_of(row)

    def get(self, upload: str) -> Upload:
        """Return how far an upload is."""
        with self._store.ledger.reading() as database:
            return self._as_it_is(_found(database, upload))

    def write(self, upload: str, *, offset: int, data: bytes, checksum: int) -> Upload:
        """Take in a slice that begins at `offset` and whose CRC-32 is `checksum`; return how far the upload is.

        Raises:
            RefusedSliceError: it begins elsewhere, or arrived damaged; nothing changed.
            NoRoomError: the disk is full; nothing changed.
            InputError: it is too long, or the file that it begins is no profile (the upload is gone then).
        """
        with self._alone(upload) as part:
            known = self.get(upload)
            if offset != known.offset_bytes:
                raise MisplacedSliceError("the slice begins elsewhere", offset=known.offset_bytes)
            if not 0 < len(data) <= min(MOST_SLICE_BYTES, known.size_bytes - offset):
                raise InputError(f"{known.name}: a slice of {len(data):,} bytes at {offset:,} does not fit the file")
            if zlib.crc32(data) != checksum:
                raise DamagedSliceError("the slice arrived damaged; send it again", offset=offset)
            if offset == 0:
                self._judge(known, data[:_SNIFFED])
            self._put(part, data, offset=offset)
            with self._store.ledger.transaction() as database:
                changes = {"offset_bytes": offset + len(data), "changed_s": time.time()}
                _found(database, upload)
                database.table("uploads").update(upload, changes)
                return _found(database, upload)

    def finish(self, upload: str, *, sha256: str) -> Upload:
        """Compare a file that is here as a whole with its SHA-256; the upload is gone where it differs."""
        if not _SHA256.fullmatch(sha256):
            raise InputError("a SHA-256 is 64 hexadecimal digits")
        with self._alone(upload) as part:
            known = self.get(upload)
            if known.offset_bytes != known.size_bytes:
                raise MisplacedSliceError(f"{known.name} is not here as a whole yet", offset=known.offset_bytes)
            if identify(part).sha256 != sha256:
                self.cancel(upload)
                raise InputError(f"{known.name} arrived damaged: its SHA-256 is another one; upload it again")
            with self._store.ledger.transaction() as database:
                _found(database, upload)
                database.table("uploads").update(upload, {"sha256": sha256, "changed_s": time.time()})
        return known

    def cancel(self, upload: str) -> None:
        """Forget an upload; nothing happens to one that is gone already."""
        with self._store.ledger.transaction() as database:
            is_ours = bool(list(database.query("SELECT id FROM uploads WHERE id = ?", [upload])))
            _forget(database, upload)
        if is_ours:  # and no other path
            self._delete_parts(upload)

    def combine(self, run: str, *, name: str | None = None) -> StoredProfile:
        """Make one profile of the finished uploads of a run; the one that is there already where the content is known.

        It may be asked again when the answer got lost.
        """
        with self._store.ledger.transaction() as database:
            rows = list(database.query("SELECT * FROM uploads WHERE run = ? ORDER BY position", [run]))
            profile = self._combined(database, run, rows=rows, name=name)
        self._delete_parts(*(str(row["id"]) for row in rows))
        return self._store.profile(profile)

    def _combined(self, database: Database, run: str, *, rows: Sequence[Row], name: str | None) -> str:
        if not rows:
            return _made_of(database, run)
        unfinished = [upload_of(row).name for row in rows if row["sha256"] is None]
        if unfinished:
            raise InputError(f"{unfinished[0]} is not here as a whole yet; upload the rest of it first")
        profile = profile_id(str(row["sha256"]) for row in rows)
        if next(iter(database.query("SELECT id FROM profiles WHERE id = ?", [profile])), None) is None:
            by_content = {str(row["sha256"]): upload_of(row) for row in reversed(rows)}
            try:
                files = place_files(self._store.places, profile, uploads=dict(reversed(by_content.items())))
            except OSError as error:
                raise _not_kept(error) from error
            insert_profile(database, profile, files=files, name=name or plain_stem(rows[0]["name"]), run=run)
        else:
            database.table("profiles").update(profile, {"run": run})
        for row in rows:
            _forget(database, str(row["id"]))
        return profile

    def _judge(self, upload: Upload, head: bytes) -> None:
        try:
            judge_head(head, name=upload.name)
        except InputError:
            self.cancel(upload.id)
            raise

    def _put(self, part: Path, data: bytes, *, offset: int) -> None:
        """Write a slice so that it is on the disk before the database says so."""
        try:
            with part.open("r+b", buffering=0) as file:
                file.seek(offset)
                rest = memoryview(data)
                while rest:
                    rest = rest[file.write(rest) :]
                os.fdatasync(file.fileno())
        except FileNotFoundError:  # it was cancelled meanwhile
            raise UnknownUploadError(_GONE) from None
        except OSError as error:
            raise _not_kept(error) from error

    @contextmanager
    def _alone(self, upload: str) -> Iterator[Path]:
        """Give the part of a file that is here, while no other thread or server writes to it."""
        self.get(upload)  # an id of ours, and no other path
        part = self._store.places.incoming / upload
        try:
            file = part.open("ab")
        except OSError as error:
            raise _not_kept(error) from error
        with file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield part

    def _delete_parts(self, *uploads: str) -> None:
        """Delete the parts of forgotten uploads: once that is sure, as a full disk may still undo it."""
        self._store.places.delete(*(self._store.places.incoming / upload for upload in uploads))

    def _as_it_is(self, upload: Upload) -> Upload:
        """Return an upload with no more of it than is on the disk, as after a loss of power."""
        part = self._store.places.incoming / upload.id
        on_disk = part.stat().st_size if part.exists() else 0
        return replace(upload, offset_bytes=min(upload.offset_bytes, on_disk))


def _forget(database: Database, upload: str) -> None:
    database.execute("DELETE FROM uploads WHERE id = ?", [upload])


def _not_kept(error: OSError) -> NoRoomError:
    return NoRoomError(f"the dashboard cannot keep the upload: {error.strerror}; make room on its disk")


def _found(database: Database, upload: str) -> Upload:
    row = next(iter(database.query("SELECT * FROM uploads WHERE id = ?", [upload])), None)
    if row is None:
        raise UnknownUploadError(_GONE)
    return upload_of(row)


def _made_of(database: Database, run: str) -> str:
    row = next(iter(database.query("SELECT id FROM profiles WHERE run = ?", [run])), None)
    if row is None:
        raise UnknownUploadError("there is no upload of that run; start it again")
    return str(row["id"])
