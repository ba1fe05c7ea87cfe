"""The machine as checks see it: all they ask goes through here, so that a test hands in another machine."""

from __future__ import annotations

import os
import resource
import socket
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.capture.nsys import Nsys, find_nsys
from gapfinder.doctor.programs import Programs, Ran, within
from gapfinder.errors import NsysError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_SYSTEM_SECONDS = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class Space:
    """What is left of a file system.

    Attributes:
        inodes, free_inodes: 0 where the file system has no fixed number of them.
    """

    total_bytes: int
    free_bytes: int
    inodes: int
    free_inodes: int
    is_writable: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Limit:
    """A limit of this process; None is unlimited."""

    soft: int | None
    hard: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """Everything that checks ask.

    Attributes:
        root: the folder that /etc, /proc and /sys are in.
        output: the folder that a run writes to.
        cpus: numbers of the CPUs that this process may use.
        run: runs a command (program, options...) with a deadline in seconds; NotCheckedError where it cannot.
        space: of a folder; OSError where there is none, NotCheckedError where it does not answer.
        addresses: of a host name; none where it is not known.
        find_nsys: NsysError where there is none.
    """

    root: Path
    output: Path
    environment: Mapping[str, str]
    host_name: str
    cpus: frozenset[int]
    open_files: Limit
    locked_memory: Limit
    run: Callable[[tuple[str, ...], float], Ran]
    space: Callable[[Path], Space]
    addresses: Callable[[str], tuple[str, ...]]
    find_nsys: Callable[[], Nsys]

    def read(self, path: str) -> str | None:
        """Return the text of a file such as "/proc/cpuinfo", stripped; None where it cannot be read."""
        try:
            return self._at(path).read_text(encoding="utf-8", errors="replace").strip()
        except OSError:
            return None

    def names(self, folder: str) -> list[str]:
        """Return what is in a folder, in order; nothing where there is no such folder."""
        try:
            return sorted(os.listdir(self._at(folder)))  # noqa: PTH208 (names, not paths)
        except OSError:
            return []

    def number(self, name: str) -> int | None:
        """Return an environment variable that is a whole number; None where it is not set or is none."""
        text = self.environment.get(name, "").strip()
        return int(text) if text.isascii() and text.isdigit() else None

    def _at(self, path: str) -> Path:
        return self.root / path.lstrip("/")


def this_machine(*, output: Path, nsys: str | None = None) -> Machine:
    """Return the machine that this process runs on; `nsys` names the nsys to look at, as for `find_nsys`."""
    return Machine(
        root=Path("/"),
        output=output,
        environment=os.environ,
        host_name=socket.gethostname(),
        cpus=frozenset(os.sched_getaffinity(0)),
        open_files=_limit(resource.RLIMIT_NOFILE),
        locked_memory=_limit(resource.RLIMIT_MEMLOCK),
        run=Programs(os.environ),
        space=_space,
        addresses=_addresses,
        find_nsys=_once(partial(find_nsys, nsys)),
    )


def _once(find: Callable[[], Nsys]) -> Callable[[], Nsys]:
    """Return `find` such that it looks once, also when it finds nothing: an nsys that hangs costs a minute."""
    found: list[Nsys | NsysError] = []

    def answer() -> Nsys:
        if not found:
            try:
                found.append(find())
            except NsysError as error:
                found.append(error)
        if isinstance(found[0], NsysError):
            raise found[0]
        return found[0]

    return answer


def _limit(which: int) -> Limit:
    soft, hard = (None if value == resource.RLIM_INFINITY else value for value in resource.getrlimit(which))
    return Limit(soft=soft, hard=hard)


def _space(folder: Path) -> Space:
    def ask() -> Space:
        found = os.statvfs(folder)
        return Space(
            total_bytes=found.f_blocks * found.f_frsize,
            free_bytes=found.f_bavail * found.f_frsize,
            inodes=found.f_files,
            free_inodes=found.f_favail,
            is_writable=os.access(folder, os.W_OK | os.X_OK),
        )

    return within(_SYSTEM_SECONDS, ask, what=f"the file system of {folder}")


def _addresses(host: str) -> tuple[str, ...]:
    def ask() -> tuple[str, ...]:
        try:
            found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
        except (socket.gaierror, UnicodeError):
            return ()
        return tuple(dict.fromkeys(str(entry[4][0]) for entry in found))

    return within(_SYSTEM_SECONDS, ask, what=f"the resolution of host name {host}")
