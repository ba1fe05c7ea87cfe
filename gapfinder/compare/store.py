"""Baselines by name: snapshots as JSON files in one folder, which can be committed, cached or copied."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gapfinder.compare.snapshot_json import LARGEST_BYTES, snapshot_from_json
from gapfinder.errors import InputError
from gapfinder.findings.words import listed
from gapfinder.settings import nearest
from gapfinder.units import format_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from gapfinder.compare.snapshot import Snapshot

SUFFIX = ".json"
STORE = ".gapfinder/baselines"
DEFAULT_NAME = "main"
"""The baseline that is compared with where none is named."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def default_store(start: Path) -> Path:
    """Return the nearest folder of baselines from `start` upwards; where there is none, the one below `start`."""
    return nearest(STORE, start=start) or start.absolute() / STORE


def baseline_file(store: Path, name: str) -> Path:
    """Return where the baseline called `name` lies; InputError for a name that could lead elsewhere."""
    if not _NAME.fullmatch(name) or name.endswith(SUFFIX):
        raise InputError(
            f"not a name of a baseline: {name!r}; use letters, digits, dots, dashes and underscores, without {SUFFIX}"
        )
    return store / f"{name}{SUFFIX}"


def names(store: Path) -> list[str]:
    """Return the names of all baselines, sorted."""
    try:
        return sorted(path.stem for path in store.glob(f"*{SUFFIX}") if _NAME.fullmatch(path.stem) and path.is_file())
    except OSError as error:
        raise InputError(f"cannot read {store}: {error.strerror}") from error


def load(store: Path, name: str) -> Snapshot:
    """Return the baseline called `name`; InputError that names those there are."""
    path = baseline_file(store, name)
    if not path.is_file():
        raise InputError(f"no baseline {name!r} in {store}; there is {listed(names(store)) or 'none yet'}")
    return read_snapshot(path)


def read_snapshot(path: Path) -> Snapshot:
    """Return the snapshot in a file; InputError where it cannot be read or is none."""
    try:
        if not path.is_file():
            raise InputError(f"no such file: {path}")
        if path.stat().st_size > LARGEST_BYTES:
            raise InputError(f"{path} has more than {format_bytes(LARGEST_BYTES)}, so it is no baseline")
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is no baseline: it is not text") from error
    return snapshot_from_json(text, source=str(path))


def remove(store: Path, name: str) -> Path:
    """Remove the baseline called `name`; return the file it was."""
    path = baseline_file(store, name)
    try:
        path.unlink()
    except FileNotFoundError as error:
        raise InputError(f"no baseline {name!r} in {store}; there is {listed(names(store)) or 'none yet'}") from error
    except OSError as error:
        raise InputError(f"cannot remove {path}: {error.strerror}") from error
    return path
