"""How much may be uploaded: a quota of the store, and what its disk has room for."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboards.store.rows import upload_of
from gapfinder.errors import InputError
from gapfinder.units import format_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from sqlite_utils import Database

MOST_UPLOADS = 4_096
"""Files that may be under way at the same time, and in one run."""


class NoRoomError(InputError):
    """The store takes no more: its quota or the disk is full."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Quota:
    """How much may be uploaded.

    Attributes:
        total_bytes: of all uploaded files together, those under way with their whole size.
        reserve_bytes: what stays free on the disk.
    """

    total_bytes: int = 50_000_000_000
    reserve_bytes: int = 1_000_000_000


def check_room(database: Database, *, needed: int, quota: Quota, folder: Path) -> None:
    """Raise NoRoomError where a file would go beyond the quota or what is free, all uploads under way counted."""
    uploads = list(map(upload_of, database.query("SELECT * FROM uploads")))
    missing = sum(upload.size_bytes - upload.offset_bytes for upload in uploads)
    (kept,) = database.execute("SELECT coalesce(sum(size_bytes), 0) FROM profiles WHERE is_uploaded").fetchone()
    if len(uploads) >= MOST_UPLOADS:
        raise NoRoomError(f"{len(uploads):,} uploads are under way already; end some of them first")
    allowed = quota.total_bytes - kept - sum(upload.size_bytes for upload in uploads)
    if needed > allowed:
        raise NoRoomError(
            f"the file has {format_bytes(needed)}, and uploads may take {format_bytes(max(allowed, 0))} more; "
            "remove profiles that are no longer needed"
        )
    free = shutil.disk_usage(folder).free - quota.reserve_bytes - missing
    if needed > free:
        raise NoRoomError(
            f"the file has {format_bytes(needed)}, and the dashboard's disk has room for "
            f"{format_bytes(max(free, 0))}; remove profiles, or make room"
        )
