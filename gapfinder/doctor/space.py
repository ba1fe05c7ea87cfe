"""Checks of free space: what a run fills must not be full before it ends."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.doctor.check import Area, Question, Verdict, failure, not_checked, ok, warning
from gapfinder.units import BYTES_PER_GB, format_bytes, format_count

if TYPE_CHECKING:
    from gapfinder.doctor.machine import Machine, Space

_TOO_LITTLE, _LITTLE = BYTES_PER_GB, 10 * BYTES_PER_GB
_FEW_INODES, _TOO_FEW_INODES = 100_000, 5_000
# What Docker gives a container that does not ask for more.
_DOCKER_DEFAULT = 64 * 2**20
_SHARED_LITTLE = 2 * BYTES_PER_GB
SHARED = Path("/dev/shm")  # noqa: S108 (read only)
_TEMPORARY = Path("/tmp")  # noqa: S108 (read only)


def _temporary(machine: Machine) -> Verdict:
    named = machine.environment.get("TMPDIR", "")
    folder = Path(named) if named else _TEMPORARY
    advice = "Delete what is old, or set TMPDIR to a large disk: a full one ends the training without a log."
    return _judged(machine, folder, called=f"TMPDIR={named}" if named else str(folder), advice=advice)


def _output(machine: Machine) -> Verdict:
    advice = "Delete old runs, or write to a large disk: reports and exports of one capture take gigabytes."
    folder = _existing(machine, machine.output)
    called = str(machine.output) if folder == machine.output else f"{machine.output} (to be made in {folder})"
    return _judged(machine, folder, called=called, advice=advice)


def _existing(machine: Machine, folder: Path) -> Path:
    """Return the folder, or the nearest above it that is there: a run makes its own."""
    try:
        machine.space(folder)
    except FileNotFoundError:
        return folder if folder == folder.parent else _existing(machine, folder.parent)
    except OSError:
        return folder
    return folder


def _shared(machine: Machine) -> Verdict:
    try:
        space = machine.space(SHARED)
    except OSError as error:
        return not_checked(f"{SHARED}: {error.strerror}")
    told = f"{SHARED}: {_left(space)}"
    advice = (
        "Data loaders and NCCL pass data through it, and die with a bus error when it is full: start the container "
        "with --ipc=host or --shm-size=16g, or delete what is in it."
    )
    if space.total_bytes <= _DOCKER_DEFAULT or space.free_bytes < _DOCKER_DEFAULT:
        return failure(told, advice=advice)
    if space.free_bytes < _SHARED_LITTLE:
        return warning(told, advice=advice)
    return ok(told)


def _judged(machine: Machine, folder: Path, *, called: str, advice: str) -> Verdict:
    try:
        space = machine.space(folder)
    except OSError as error:
        return failure(f"{called}: {error.strerror}", advice="Create the folder, or name another.")
    told = f"{called}: {_left(space)}"
    if not space.is_writable:
        return failure(f"{called}: no permission to write", advice="Change its permissions, or name another folder.")
    if space.free_bytes < _TOO_LITTLE or (space.inodes and space.free_inodes < _TOO_FEW_INODES):
        return failure(told, advice=advice)
    if space.free_bytes < _LITTLE or (space.inodes and space.free_inodes < _FEW_INODES):
        return warning(told, advice=advice)
    return ok(told)


def _left(space: Space) -> str:
    size = f"{format_bytes(space.free_bytes)} of {format_bytes(space.total_bytes)} free"
    return f"{size}, {format_count(space.free_inodes, 'inode')}" if space.inodes else size


QUESTIONS = tuple(
    Question(code=code, area=Area.SPACE, title=title, ask=ask)
    for code, title, ask in (
        ("space-temporary", "temporary folder", _temporary),
        ("space-output", "output folder", _output),
        ("space-shared-memory", "shared memory", _shared),
    )
)
