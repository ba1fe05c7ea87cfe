"""Puts uploaded files where the store keeps them, under names that are safe whatever their owner calls them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from dashboards.store.identity import KnownFile
from gapfinder.load.checks import file_state

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from dashboards.store.places import Places
    from dashboards.store.records import Upload

_LONGEST_FILE_NAME = 120


def place_files(places: Places, profile: str, *, uploads: Mapping[str, Upload]) -> list[KnownFile]:
    """Give the uploaded files of a new profile, by SHA-256, their place in a folder that appears as a whole.

    The parts stay until the caller has written the rows and forgets the uploads.
    """
    folder = places.files / profile
    places.discard(folder)  # of somebody who died between this and the row
    scratch = places.files / f".{profile}"
    places.discard(scratch)
    scratch.mkdir(mode=0o700)
    names = _file_names([upload.name for upload in uploads.values()])
    for upload, name in zip(uploads.values(), names, strict=True):
        _link(places.incoming / upload.id, scratch / name)
    scratch.rename(folder)
    return [
        KnownFile(path=folder / name, state=file_state(folder / name), sha256=sha256)
        for sha256, name in zip(uploads, names, strict=True)
    ]


def _file_names(names: Sequence[str]) -> list[str]:
    """Return what files are called in the store: only plain letters of their owner's names, each once, never a path."""
    made: list[str] = []
    for number, name in enumerate(names):
        plain = re.sub(r"[^A-Za-z0-9._-]+", "-", name)[-_LONGEST_FILE_NAME:].lstrip(".-") or "profile"
        made.append(plain if plain not in made else f"{number}-{plain}")
    return made


def _link(part: Path, place: Path) -> None:
    """Give a file a second name, so that a death before the row loses nothing; not every file system has links."""
    try:
        place.hardlink_to(part)
    except OSError:
        part.rename(place)
