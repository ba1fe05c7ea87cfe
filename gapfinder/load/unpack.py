"""Unpacks a compressed export into a private temporary file that is removed when nobody needs it."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
import tempfile
import time
import weakref
import zlib
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

import zstandard

from gapfinder.errors import InputError, PlaceError
from gapfinder.load.checks import SQLITE_MAGIC, Content, read_header

if TYPE_CHECKING:
    from gapfinder.load.limits import Limits

_CHUNK = 1 << 22
_MOST_TIMES, _NOT_SMALL = 200, 1 << 30
"""How many times its size a large archive may unpack to; exports unpack to 5 to 15 times theirs."""


_Reader = gzip.GzipFile | zstandard.ZstdDecompressionReader


class Unpacked:
    """An unpacked export; its folder goes when this object does, at the latest when the interpreter ends."""

    def __init__(self, path: Path, *, content: Content, limits: Limits) -> None:
        try:
            folder = Path(tempfile.mkdtemp(prefix="gapfinder-"))
        except OSError as error:
            raise PlaceError(
                f"{path.name}: no folder to unpack it in: {error.strerror}", "set TMPDIR to one"
            ) from error
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self.path = folder / path.name
        try:
            _unpack(path, self.path, content=content, limits=limits)
        except BaseException:
            self._remove()
            raise


def _unpack(source: Path, target: Path, *, content: Content, limits: Limits) -> None:
    declared = 0
    try:
        with source.open("rb") as packed, target.open("xb") as out:
            declared = _declared_size(packed, content)
            if declared > limits.max_bytes:
                raise _too_large(source, limits)
            if declared > shutil.disk_usage(target.parent).free:
                raise _disk_full(source, target.parent, needed=declared)
            with _reader(packed, content) as reader:
                _copy(reader, out, source=source, limits=limits)
    except (gzip.BadGzipFile, EOFError, zlib.error, zstandard.ZstdError) as error:
        raise InputError(f"{source.name}: cannot be unpacked, the file is damaged or cut off ({error})") from error
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise _disk_full(source, target.parent, needed=max(declared, target.stat().st_size)) from error
        raise InputError(f"{source.name}: cannot be unpacked into {target.parent}: {error.strerror}") from error


def _copy(reader: _Reader, out: BinaryIO, *, source: Path, limits: Limits) -> None:
    """Unpack a database of the size its header tells; of anything else only the start, to be judged by it."""
    deadline = time.monotonic() + limits.deadline_s
    chunk = reader.read(_CHUNK)
    written = out.write(chunk)
    if not chunk:  # zstd does not say that a frame is cut off
        raise InputError(
            f"{source.name}: nothing can be unpacked from it: it is empty, damaged or cut off; copy it again"
        )
    if not chunk.startswith(SQLITE_MAGIC):
        return
    size = read_header(chunk, name=source.name).size
    if size is None:
        raise InputError(f"{source.name}: the database in it does not tell its size; unpack it yourself")
    if size > limits.max_bytes:
        raise _too_large(source, limits)
    if size > max(_NOT_SMALL, _MOST_TIMES * source.stat().st_size):
        raise InputError(
            f"{source.name}: tells that it unpacks to {size:,} bytes, more than {_MOST_TIMES} times its size, which no "
            "export does; unpack it yourself if you trust it"
        )
    while chunk:
        if time.monotonic() > deadline:
            raise InputError(f"{source.name}: not unpacked within {limits.deadline_s:g} s; unpack it yourself")
        chunk = reader.read(_CHUNK)
        written += out.write(chunk)
        if written > size:
            raise InputError(f"{source.name}: unpacks to more than the {size:,} bytes that its header tells")


def _too_large(source: Path, limits: Limits) -> InputError:
    return InputError(f"{source.name}: unpacks to more than the limit of {limits.max_bytes:,} bytes")


def _disk_full(source: Path, folder: Path, *, needed: int) -> PlaceError:
    free = shutil.disk_usage(folder).free
    return PlaceError(
        f"{source.name}: no room to unpack it in {folder.parent}: at least {needed:,} bytes needed, {free:,} free",
        "free some space or set TMPDIR to another folder",
    )


def _declared_size(packed: BinaryIO, content: Content) -> int:
    """Return the least size the packed file says it has: gzip tells it modulo 4 GiB, zstd perhaps not at all."""
    if content is Content.GZIP:
        packed.seek(max(packed.seek(0, os.SEEK_END) - 4, 0))
        size = int.from_bytes(packed.read(4), "little")
    else:
        size = zstandard.frame_content_size(packed.read(18))
    packed.seek(0)
    return max(size, 0)


def _reader(packed: BinaryIO, content: Content) -> _Reader:
    if content is Content.GZIP:
        return gzip.GzipFile(fileobj=packed)
    return zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True)
