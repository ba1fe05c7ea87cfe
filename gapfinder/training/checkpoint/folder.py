"""The folder of a training's checkpoints: what is in it, in which order, and what may be deleted."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.errors import CheckpointError
from gapfinder.training.checkpoint.files import read_manifest, sync_folder

if TYPE_CHECKING:
    from pathlib import Path

    from gapfinder.training.checkpoint.files import Manifest

_NAME = re.compile(r"(step|hot)-([0-9]{1,18})(?:\.([0-9]{1,9}))?")
_HALF = ".half"


@dataclass(frozen=True, kw_only=True, slots=True)
class Found:
    """A checkpoint in the folder.

    Attributes:
        attempt: tells several of the same step apart; the highest is the newest.
        is_hot: saved at the end of a training that was stopped or failed, by each rank for itself.
    """

    path: Path
    step: int
    attempt: int
    is_hot: bool

    @property
    def age(self) -> tuple[int, bool, int]:
        """The older, the smaller."""
        return self.step, not self.is_hot, self.attempt


def part_path(checkpoint: Path, rank: int) -> Path:
    """Return where the part of `rank` is."""
    return checkpoint / f"rank{rank}.pt"


def manifest_path(checkpoint: Path, rank: int) -> Path:
    """Return where the manifest of that part is."""
    return checkpoint / f"rank{rank}.json"


def failure_path(checkpoint: Path, rank: int) -> Path:
    """Return what `rank` leaves for rank 0 when its part could not be written."""
    return checkpoint / f"rank{rank}.failed"


def hot_path(folder: Path, step: int) -> Path:
    """Return where what is saved at the end of a failing training goes."""
    return folder / f"hot-{step:09}"


def half_path(folder: Path, step: int, *, attempt: str) -> Path:
    """Return where a checkpoint is put together; `attempt` is the same on all ranks, and never used again."""
    return folder / f".step-{step:09}.{attempt}{_HALF}"


def found_in(folder: Path) -> tuple[Found, ...]:
    """Return the checkpoints in `folder`, the newest first; a folder that is not there has none."""
    try:
        paths = list(folder.iterdir())
    except FileNotFoundError:
        return ()
    matches = ((path, _NAME.fullmatch(path.name)) for path in paths)
    every = (
        Found(path=path, step=int(match[2]), attempt=int(match[3] or 0), is_hot=match[1] == "hot")
        for path, match in matches
        if match
    )
    return tuple(sorted(every, key=lambda one: one.age, reverse=True))


def first_manifest(checkpoint: Path) -> Manifest | None:
    """Return the manifest of the first rank that left one, which tells what holds for all of them."""
    numbers = sorted(int(path.stem[4:]) for path in checkpoint.glob("rank*.json") if path.stem[4:].isdigit())
    manifests = (read_manifest(manifest_path(checkpoint, number)) for number in numbers)
    return next((one for one in manifests if one), None)


def commit(half: Path, *, folder: Path, step: int) -> Path:
    """Give a checkpoint its name, at once and for good; a name that is taken gets a number behind it."""
    attempts = [one.attempt for one in found_in(folder) if one.step == step and not one.is_hot]
    name = f"step-{step:09}" + (f".{max(attempts) + 1}" if attempts else "")
    sync_folder(half)
    path = half.rename(folder / name)
    sync_folder(folder)
    return path


def prune(folder: Path, *, keep: int, newest: Path) -> None:
    """Delete all but the last `keep` checkpoints, `newest` among these, and hot ones that it makes useless."""
    every = found_in(folder)
    planned = [one for one in every if not one.is_hot]
    (last,) = (one for one in planned if one.path == newest)
    useless = [one for one in every if one.is_hot and one.step <= last.step and _is_continued(one.path)]
    others = [one for one in planned if one is not last]
    for one in (*others[keep - 1 :], *useless):
        discard(one.path)


def discard(path: Path) -> None:
    """Delete a checkpoint: first its name, so that no half of it is ever taken for one."""
    gone = path.with_name(f".{path.name}{_HALF}")
    with suppress(FileNotFoundError):  # somebody else tidies as well
        path.rename(gone)
    shutil.rmtree(gone, ignore_errors=True)


def sweep(folder: Path) -> None:
    """Delete what killed trainings left half written or half deleted."""
    for path in folder.glob(f".*{_HALF}"):
        shutil.rmtree(path, ignore_errors=True)


def set_aside(found: Found) -> Path:
    """Rename a damaged checkpoint, so that it is neither tried again nor counted among those that are kept."""
    base = found.path.with_name(f"damaged-{found.path.name}")
    path, number = base, 0
    while path.exists():
        number += 1
        path = base.with_name(f"{base.name}.{number}")
    return found.path.rename(path)


def claim(folder: Path) -> int:
    """Make `folder` and take it for this process as long as it lives; return the descriptor that holds it.

    A record lock, which forked loader processes do not inherit: they outlive a killed training for seconds.
    """
    folder.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as error:
        os.close(descriptor)
        raise CheckpointError(
            f"another training writes its checkpoints to {folder} now; wait for its end, or name another folder"
        ) from error
    except OSError:  # a file system without locks: nothing holds it
        return descriptor
    return descriptor


def _is_continued(path: Path) -> bool:
    manifest = first_manifest(path)
    return manifest is not None and manifest.is_continued
