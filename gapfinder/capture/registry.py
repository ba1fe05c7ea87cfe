"""nsys's registry of sessions in shared memory, which two users of nsys on one machine can damage for each other.

nsys keeps its sessions in one file in /dev/shm, and guards it by a lock file in the folder for temporary files. Two
nsys with different such folders have different locks: they make and remove the registry at the same time, and what
stays may be half made. Then every nsys of that version waits for it, for good (seen with 2022.4.2).
"""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from gapfinder.capture.nsys import Nsys

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 (nsys's own place)
_TEMPORARY = Path("/tmp")  # noqa: S108 (nsys's own place)
# as nsys looks for the folder
_NAMES = ("TMPDIR", "TMP", "TEMP", "TEMPDIR")
_FOLDER, _LOCK = "nvidia/nsight_systems", "SessionManager-{version}.lock"
# of everybody, as nsys makes them: the next user of this machine must be able to open them
_FOLDER_MODE, _LOCK_MODE = 0o777, 0o666
# how the segment of shared memory begins when it is made: the state of Boost.Interprocess's managed segments
_WHOLE = (2).to_bytes(4, "little")
_LOCK_S, _MAKING_S, _LOOK_S = 2.0, 1.0, 0.05


def registry_file(nsys: Nsys) -> Path:
    """Return where this nsys keeps its sessions."""
    return _SHARED_MEMORY / f"NSys-{nsys.version}"


@contextmanager
def shared_lock(nsys: Nsys, *, environment: Mapping[str, str]) -> Iterator[None]:
    """Let an nsys that is started with `environment` have the lock of those whose temporary folder is /tmp.

    What cannot be done is left: then nsys has a lock of its own, as it would without us.
    """
    named = next((environment[name] for name in _NAMES if environment.get(name)), "")
    link = None
    if named:
        with suppress(OSError):
            link = _share(_lock_in(_TEMPORARY, nsys), _lock_in(Path(named), nsys))
    try:
        yield
    finally:
        # one that leads nowhere after the next start of the machine would be no lock that nsys can open
        if link is not None:
            link.unlink(missing_ok=True)


def mend_registry(nsys: Nsys) -> bool:
    """Remove a registry that is not whole; to be asked where nsys could not start. Returns whether it was."""
    file = registry_file(nsys)
    with suppress(OSError), _locked(_lock_in(_TEMPORARY, nsys)):
        if _is_whole(file):
            return False
        time.sleep(_MAKING_S)  # one that is being made by an nsys that has another lock is whole by then
        if not _is_whole(file):
            file.unlink()
            return True
    return False


def _is_whole(file: Path) -> bool:
    with file.open("rb") as registry:
        return registry.read(len(_WHOLE)) == _WHOLE


def _lock_in(folder: Path, nsys: Nsys) -> Path:
    return folder / _FOLDER / _LOCK.format(version=nsys.version)


def _share(lock: Path, other: Path) -> Path | None:
    """Make `other` the same file as `lock`, which is made where it is not there; return what must go afterwards."""
    for path in (lock, other):
        if not path.parent.exists():
            for folder in (path.parent.parent, path.parent):
                folder.mkdir(exist_ok=True)
                folder.chmod(_FOLDER_MODE)
    if not lock.exists():
        lock.touch()
        lock.chmod(_LOCK_MODE)
    if not os.access(lock, os.R_OK | os.W_OK) or (other.exists() and other.samefile(lock)):
        return None
    new = other.with_name(f"{other.name}.{os.getpid()}")
    try:
        new.hardlink_to(lock)
        is_link = False
    except OSError:  # it is on another file system
        new.symlink_to(lock)
        is_link = True
    new.replace(other)
    return other if is_link else None


@contextmanager
def _locked(lock: Path) -> Iterator[None]:
    """Have nsys's lock, or, where nobody gives it back in time, go on without it."""
    with lock.open("r+b") as file:
        deadline = time.monotonic() + _LOCK_S
        while time.monotonic() < deadline:
            try:
                fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except OSError:
                time.sleep(_LOOK_S)
        yield
