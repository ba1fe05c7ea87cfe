"""What ties the files of a prepared profile together, and who wrote them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import msgspec

from dashboards.data.columns import MANIFEST, damaged
from gapfinder import __version__
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from pathlib import Path

FORMAT = 1

_Value = TypeVar("_Value")


class PlacedClock(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a lane's Clock."""

    offset_ns: int
    drift_ppm: float
    at_ns: int


class PlacedLane(msgspec.Struct, frozen=True, kw_only=True):
    """Where a lane's batches are: operations from 4 * written on, holes at the lane's own place."""

    written: int
    process: int
    clock: PlacedClock


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """The small values of a trace.

    Attributes:
        format: of the folder; another number is not read.
        gapfinder: version that wrote it.
        sizes: bytes of each file beside this one.
        launching_threads: of each process.
    """

    format: int
    gapfinder: str
    sizes: dict[str, int]
    origin_ns: int
    end_ns: int
    domains: tuple[str, ...]
    lanes: tuple[PlacedLane, ...]
    launching_threads: tuple[int | None, ...]


class _Head(msgspec.Struct, frozen=True):
    format: int
    gapfinder: str


def read_manifest(folder: Path) -> Manifest:
    """Return the manifest of a folder whose files have the sizes that it tells.

    Raises:
        InputError: there is none, or it was written by another version, or a file is shorter or longer.
    """
    content = read_bytes(folder, MANIFEST)
    head = decoded(content, kind=_Head, name=MANIFEST)
    if (head.format, head.gapfinder) != (FORMAT, __version__):
        raise InputError(
            f"the profile was prepared by gapfinder {head.gapfinder}, this is {__version__}; prepare it again"
        )
    manifest = decoded(content, kind=Manifest, name=MANIFEST)
    for name, size in manifest.sizes.items():
        if file_size(folder, name) != size:
            raise damaged(name)
    return manifest


def read_bytes(folder: Path, name: str) -> bytes:
    """Return a whole file."""
    try:
        return (folder / name).read_bytes()
    except OSError as error:
        raise InputError(f"the prepared profile has no {name} that can be read; prepare the profile again") from error


def file_size(folder: Path, name: str) -> int | None:
    """Return a file's size in bytes; None where there is none."""
    try:
        return (folder / name).stat().st_size
    except OSError:
        return None


def decoded(content: bytes, *, kind: type[_Value], name: str) -> _Value:
    """Return JSON as a value of a type that it must have."""
    try:
        return msgspec.json.decode(content, type=kind)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise damaged(name) from error
