"""nsys's registry of sessions in shared memory, which two users of nsys on one machine can damage for each other.

nsys keeps its sessions in one file in /dev/shm, and guards it by a lock file in the folder for temporary files. Two
nsys with different such folders have different locks: they make and remove the registry at the same time, and what
stays may be half made. Then every nsys of that version waits for it, for good (seen with 2022.4.2).
"""

from __future__ import annotations

import fcntl
import os
import signal
import struct
import time
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from gapfinder.capture.nsys import Nsys

_SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 (nsys's own place)
_TEMPORARY = Path("/tmp")  # noqa: S108 (nsys's own place)
# as nsys looks for the folder
_NAMES = ("TMPDIR", "TMP", "TEMP", "TEMPDIR")
_FOLDER, _LOCK = "nvidia/nsight_systems", "SessionManager-{version}.lock"
# of everybody, as nsys makes them: the next user of this machine must be able to open them
_FOLDER_MODE, _LOCK_MODE = 0o777, 0o666
# fcntl's struct flock: type, whence, start, length, process
_FLOCK = "hhqqi"
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
    use = None
    if named:
        with suppress(OSError):
            other = _lock_in(Path(named).absolute(), nsys)
            use = _share(_lock_in(_TEMPORARY, nsys), other)
    try:
        yield
    finally:
        if use is not None:
            with suppress(OSError):
                _end_use(other, use)
            os.close(use)


def mend_registry(nsys: Nsys) -> bool:
    """Remove a registry that is not whole, and end the nsys that waits for one with everybody's lock, for good.

    To be asked where nsys could not start. Returns whether there is hope that it can now.
    """
    file = registry_file(nsys)
    with suppress(OSError), _locked(_lock_in(_TEMPORARY, nsys)) as holder:
        is_damaged = not _is_whole(file)
        if is_damaged:
            time.sleep(_MAKING_S)  # one that is being made by an nsys that has another lock is whole by then
            is_damaged = not _is_whole(file)
        if is_damaged:
            file.unlink()
        return _end_waiting(holder, removed=file) or is_damaged
    return False


def _is_whole(file: Path) -> bool:
    """Return whether nsys can use a registry; none is as good as one."""
    try:
        with file.open("rb") as registry:
            return registry.read(len(_WHOLE)) == _WHOLE
    except FileNotFoundError:
        return True


def _end_waiting(holder: int | None, *, removed: Path) -> bool:
    """End the process that has the lock, if it waits for a registry that was removed."""
    if holder is None:
        return False
    with suppress(OSError):
        # one that has found its registry whole has it in its memory alone
        opened = [os.readlink(file) for file in Path(f"/proc/{holder}/fd").iterdir()]  # noqa: PTH115 (it is no path)
        if f"{removed} (deleted)" in opened:
            os.kill(holder, signal.SIGKILL)
            return True
    return False


def _lock_in(folder: Path, nsys: Nsys) -> Path:
    return folder / _FOLDER / _LOCK.format(version=nsys.version)


def _share(lock: Path, other: Path) -> int | None:
    """Make `other` the same file as `lock`, which is made where it is not there.

    Where only a symbolic link can do that, returns the open folder with a mark that the link is in use.
    """
    for path in (lock, other):
        _make_folder(path.parent.parent)
        _make_folder(path.parent)
    with suppress(FileExistsError):  # also where a link leads nowhere: who knows who has made it
        os.close(os.open(lock, os.O_RDWR | os.O_CREAT | os.O_EXCL))
        lock.chmod(_LOCK_MODE)
    if not os.access(lock, os.R_OK | os.W_OK):
        return None
    use = os.open(other.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _wait_for(lambda: fcntl.flock(use, fcntl.LOCK_SH | fcntl.LOCK_NB))
        if not (other.exists() and other.samefile(lock)):
            _link(lock, other)
    except BaseException:
        os.close(use)
        raise
    if other.is_symlink():
        return use
    os.close(use)
    return None


def _make_folder(folder: Path) -> None:
    with suppress(FileExistsError):
        folder.mkdir()
        folder.chmod(_FOLDER_MODE)  # only of one that is ours: the name may lead anywhere


def _link(lock: Path, other: Path) -> None:
    new = other.with_name(f"{other.name}.{os.urandom(4).hex()}")
    try:
        try:
            new.hardlink_to(lock)
        except OSError:  # it is on another file system
            new.symlink_to(lock)
        new.replace(other)
    finally:
        new.unlink(missing_ok=True)  # it stays where somebody else has just made the same link


def _end_use(other: Path, use: int) -> None:
    """Remove the symbolic link, unless somebody else uses it.

    One that leads nowhere after the next start of the machine would be no lock that nsys can open.
    """
    fcntl.flock(use, fcntl.LOCK_EX | fcntl.LOCK_NB)
    if other.is_symlink():
        other.unlink()


@contextmanager
def _locked(lock: Path) -> Iterator[int | None]:
    """Have nsys's lock, or, where nobody gives it back in time, go on without it; gives the process that has it."""
    try:
        file = lock.open("r+b")
    except FileNotFoundError:  # then nobody has it
        yield None
        return
    with file:
        if _wait_for(lambda: fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)):
            yield None
            return
        asked = struct.pack(_FLOCK, fcntl.F_WRLCK, os.SEEK_SET, 0, 0, 0)
        kind, _, _, _, holder = struct.unpack(_FLOCK, fcntl.fcntl(file, fcntl.F_GETLK, asked))
        yield None if kind == fcntl.F_UNLCK else holder


def _wait_for(lock: Callable[[], None]) -> bool:
    """Try for a while to have a lock, and return whether it worked."""
    deadline = time.monotonic() + _LOCK_S
    while time.monotonic() < deadline:
        try:
            lock()
        except OSError:
            time.sleep(_LOOK_S)
        else:
            return True
    return False
