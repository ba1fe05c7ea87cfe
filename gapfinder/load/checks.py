"""Judges a file by its first bytes, before SQLite sees it."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING

from gapfinder.errors import InputError
from gapfinder.export import REPORT_SUFFIXES
from gapfinder.load.btree import PageFile

if TYPE_CHECKING:
    from pathlib import Path

    from gapfinder.load.limits import Limits

_HEADER_SIZE = 100
_SMALLEST_PAGE, _LARGEST_PAGE, _SMALLEST_USABLE = 512, 65_536, 480
_SNIFFED = 512


class Content(Enum):
    """What a file holds, by its first bytes (and for nsys's reports of any age by its name)."""

    SQLITE = auto()
    GZIP = auto()
    ZSTD = auto()
    REPORT = auto()


SQLITE_MAGIC = b"SQLite format 3\0"
_MAGIC = {
    SQLITE_MAGIC: Content.SQLITE,
    b"\x1f\x8b": Content.GZIP,
    b"\x28\xb5\x2f\xfd": Content.ZSTD,
    b"NVIDIA Tegra Profiler Report": Content.REPORT,
}
_LFS_POINTER = b"version https://git-lfs.github.com/spec/"


@dataclass(frozen=True, slots=True)
class FileState:
    """What tells a file from a later one in its place."""

    size: int
    modified_ns: int
    number: int


def file_state(path: Path) -> FileState:
    """Return the state of a regular file, or raise InputError."""
    try:
        status = path.stat()
    except FileNotFoundError as error:
        raise InputError(f"no such file: {path}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(status.st_mode):
        what = "a folder; name a profile in it" if stat.S_ISDIR(status.st_mode) else "not a regular file"
        raise InputError(f"{path}: is {what}")
    return FileState(status.st_size, status.st_mtime_ns, status.st_ino)


def judge_content(path: Path) -> Content:
    """Return what the file holds; InputError names anything that is no profile."""
    return judge_head(_read_head(path), name=path.name)


def judge_head(head: bytes, *, name: str) -> Content:
    """Return what a file called `name` that begins with `head` holds; InputError names anything that is no profile."""
    for magic, content in _MAGIC.items():
        if head.startswith(magic):
            return content
    if not head:
        raise InputError(f"{name}: the file is empty; export the report again")
    if head.startswith(_LFS_POINTER):
        raise InputError(f"{name}: is a Git LFS pointer, not the profile itself; run `git lfs pull` to fetch it")
    if name.endswith(REPORT_SUFFIXES):
        return Content.REPORT
    kind = "a text file" if _is_text(head) else "neither a SQLite database nor an nsys report"
    raise InputError(f"{name}: is {kind}; expected an nsys report (.nsys-rep) or its SQLite export")


@dataclass(frozen=True, kw_only=True, slots=True)
class Header:
    """What a SQLite file's header says; `size` in bytes, None where it was written too long ago to tell."""

    page_size: int
    usable: int
    size: int | None


def read_header(start: bytes, *, name: str) -> Header:
    """Return the header that a SQLite file starts with, or raise InputError."""
    header = start[:_HEADER_SIZE]
    if len(header) < _HEADER_SIZE:
        raise InputError(f"{name}: is cut off after {len(header)} bytes; copy or export it again")
    page_size = int.from_bytes(header[16:18], "big")
    page_size = _LARGEST_PAGE if page_size == 1 else page_size
    usable = page_size - header[20]
    if page_size < _SMALLEST_PAGE or page_size.bit_count() != 1 or usable < _SMALLEST_USABLE:
        raise InputError(f"{name}: the SQLite header is damaged (page size {page_size}); export the report again")
    pages = int.from_bytes(header[28:32], "big")
    is_told = pages > 0 and header[24:28] == header[92:96]
    return Header(page_size=page_size, usable=usable, size=pages * page_size if is_told else None)


def check_database(path: Path, *, limits: Limits) -> PageFile:
    """Return the page layout of a SQLite file that is whole, closed and not too large, or raise InputError."""
    size = file_state(path).size
    header = read_header(_read_head(path), name=path.name)
    if header.size is not None and header.size > size:
        raise InputError(f"{path.name}: is cut off: {size:,} bytes of {header.size:,}; copy or export it again")
    if size > limits.max_bytes:
        raise InputError(f"{path.name}: has {size:,} bytes, more than the limit of {limits.max_bytes:,}")
    _check_companions(path)
    pages = (header.size or size) // header.page_size
    return PageFile(path=path, page_size=header.page_size, usable=header.usable, pages=pages)


def _check_companions(path: Path) -> None:
    for suffix in ("-wal", "-journal"):
        companion = path.with_name(path.name + suffix)
        try:
            pending = companion.stat().st_size
        except OSError:
            continue
        if pending:
            raise InputError(
                f"{path.name}: {companion.name} lies beside it ({pending:,} bytes): the export was interrupted or is "
                "still open elsewhere; wait for it to end, or export the report again"
            )


def _read_head(path: Path) -> bytes:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as stream:
            return stream.read(_SNIFFED)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def _is_text(head: bytes) -> bool:
    text = head.decode("utf-8", errors="ignore")
    return len(text.encode()) >= len(head) - 3 and all(c.isprintable() or c.isspace() for c in text)
