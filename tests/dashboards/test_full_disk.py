"""A disk that is really full, in the middle of an upload and of a change of the database."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import zlib
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import pytest

from dashboards.store.room import NoRoomError, Quota
from dashboards.store.store import Store
from dashboards.store.uploads import Uploads
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CONTENT = b"SQLite format 3\0" + bytes(range(256)) * 400


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of two megabytes."""
    place = tmp_path / "disk"
    place.mkdir()
    mounting = ("mount", "-t", "tmpfs", "-o", "size=2m", "gapfinder-test", place)
    if os.geteuid() or shutil.which("mount") is None or subprocess.run(mounting, check=False).returncode:
        pytest.skip("only root may mount a small file system")
    yield place
    subprocess.run(("umount", "--lazy", place), check=True)


def test_a_store_that_may_only_be_read_is_told(disk):
    Store(disk / "store").close()
    subprocess.run(("mount", "-o", "remount,ro", disk), check=True)
    for folder in ("store", "new"):
        with pytest.raises(InputError, match=rf"{folder}: Read-only file system; name another one with --store"):
            Store(disk / folder)


@contextmanager
def full(disk: Path) -> Iterator[None]:
    """Fill the disk to the last byte."""
    filler = disk / "filler"
    with filler.open("wb", buffering=0) as file, suppress(OSError):
        while file.write(bytes(4_096)):
            pass
    assert shutil.disk_usage(disk).free == 0
    yield
    filler.unlink()


def test_nothing_is_lost_and_all_goes_on_when_there_is_room(disk):
    store = Store(disk / "store")
    uploads = Uploads(store, quota=Quota(reserve_bytes=0))
    upload = uploads.begin(name="a.sqlite", size_bytes=len(CONTENT), run="run-of-a-test").id
    uploads.write(upload, offset=0, data=CONTENT[:50_000], checksum=zlib.crc32(CONTENT[:50_000]))
    rest = CONTENT[50_000:]
    with full(disk), pytest.raises(NoRoomError, match="No space left on device; make room on its disk"):
        uploads.write(upload, offset=50_000, data=rest, checksum=zlib.crc32(rest))
    assert uploads.get(upload).offset_bytes == 50_000
    uploads.write(upload, offset=50_000, data=rest, checksum=zlib.crc32(rest))
    uploads.finish(upload, sha256=hashlib.sha256(CONTENT).hexdigest())
    with full(disk):
        with pytest.raises(InputError, match=r"database or disk is full|No space left on device"):
            uploads.combine("run-of-a-test")
        assert store.profiles() == []
    profile = uploads.combine("run-of-a-test")
    assert profile.files[0].read_bytes() == CONTENT
    with full(disk):
        try:
            store.remove(profile.id)
        except InputError:
            assert store.profile(profile.id).files[0].read_bytes() == CONTENT
        else:
            assert store.profiles() == []
    store.close()
