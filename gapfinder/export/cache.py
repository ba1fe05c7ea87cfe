"""The folder that keeps exports, each under a name made of its report's content, written by one process at a time."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.errors import InputError, PlaceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

ENVIRONMENT_NAME = "GAPFINDER_CACHE"


def cache_folder() -> Path:
    """Return GAPFINDER_CACHE, else gapfinder in the user's cache folder; made for its owner alone (mode 0700)."""
    named = os.environ.get(ENVIRONMENT_NAME)
    base = os.environ.get("XDG_CACHE_HOME", "")
    if named:
        folder = Path(named)
    else:
        folder = (Path(base) if Path(base).is_absolute() else Path.home() / ".cache") / "gapfinder"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        owner = folder.stat().st_uid
    except OSError as error:
        raise PlaceError(
            f"cannot use the cache folder {folder}: {error.strerror}", f"set {ENVIRONMENT_NAME} to a folder of yours"
        ) from error
    if owner != os.geteuid():
        raise InputError(f"the cache folder {folder} belongs to somebody else; set {ENVIRONMENT_NAME} to one of yours")
    return folder


def content_key(path: Path) -> str:
    """Return a name for what is in the file: the same for a copy elsewhere, another one after any change."""
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "blake2b").hexdigest()[:32]
        return f"{file.tell():x}-{digest}"


def cached(name: str, *, make: Callable[[Path], Path]) -> Path:
    """Return the cache's file `name`; where it is missing, what `make` writes in the scratch folder it is given."""
    folder = cache_folder()
    final = folder / name
    try:
        with _locked(folder / f"{name}.lock"):
            if not final.exists():
                for left_over in folder.glob(f".{name}.*"):
                    shutil.rmtree(left_over)
                with tempfile.TemporaryDirectory(prefix=f".{name}.", dir=folder) as scratch:
                    made = make(Path(scratch))
                    made.chmod(0o600)
                    made.replace(final)
    except OSError as error:
        raise PlaceError(
            f"cannot write to the cache folder {folder}: {error.strerror}", f"make room, or set {ENVIRONMENT_NAME}"
        ) from error
    return final


def remove_half_made() -> None:
    """Remove what killed processes left half made, as far as that can be done.

    What is being made now is locked by its maker, and stays.
    """
    with suppress(OSError, InputError):
        folder = cache_folder()
        for scratch in filter(Path.is_dir, folder.glob(".*.*")):
            name = scratch.name[1:].rpartition(".")[0]
            # without such a lock it is nothing of ours; one that is held is BlockingIOError
            with suppress(OSError), (folder / f"{name}.lock").open("rb") as file:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(scratch)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold the file's lock; it is the process's, so that a killed one leaves none behind."""
    with path.open("wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
