"""Where tasks run: in this process, in processes of this machine, or on Dask; one interface for all of them."""

from __future__ import annotations

import os
import signal
from concurrent.futures import BrokenExecutor, Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import chain
from multiprocessing import forkserver, get_context, resource_tracker
from typing import TYPE_CHECKING, ParamSpec, Protocol, TypeVar

from gapfinder.cluster.memory import MOST_MEMORY, estimated_need, fits, free_memory
from gapfinder.cluster.process import prepare_worker
from gapfinder.errors import GapfinderError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")

_WORTH_PROCESSES = 50_000_000
"""Reports that are smaller together are measured in about a second, which is what starting processes takes."""


class Workers(Protocol):
    """A place for tasks."""

    def lost(self) -> tuple[type[BaseException], ...]:
        """Return what a task's future raises when the process that ran it is gone."""
        ...

    def open(self) -> AbstractContextManager[Executor]:
        """Start them; those left over from an earlier failure are not used again."""
        ...

    def found_at(self, path: Path) -> Path:
        """Return where they find a file."""
        ...

    def has_room(self, path: Path, *, beside: Sequence[Path]) -> bool:
        """Say whether a report's task may start while those of others run."""
        ...


class _InThisProcess(Executor):
    """Runs a task when it is handed in; an interrupt or a bug ends everything, as without it."""

    def submit(self, fn: Callable[_Given, _Made], /, *args: _Given.args, **kwargs: _Given.kwargs) -> Future[_Made]:
        """Run it and return its result."""
        future: Future[_Made] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except GapfinderError as error:
            future.set_exception(error)
        return future


@dataclass(frozen=True, slots=True)
class ThisProcess:
    """One task after the other, in this process."""

    def lost(self) -> tuple[type[BaseException], ...]:
        """Return nothing: with this process everything is gone."""
        return ()

    def found_at(self, path: Path) -> Path:
        """Return the path as it is."""
        return path

    @contextmanager
    def open(self) -> Iterator[Executor]:
        """Return what runs tasks here."""
        yield _InThisProcess()

    def has_room(self, path: Path, *, beside: Sequence[Path]) -> bool:  # noqa: ARG002 (no path matters here)
        """Say that one task runs at a time."""
        return not beside


@dataclass(frozen=True, kw_only=True, slots=True)
class LocalProcesses:
    """Processes of this machine.

    Attributes:
        count: how many tasks run at once, as far as memory lasts.
        memory: bytes that each may take; None for no limit but the machine's.
        free: bytes that were free before the work began; None where that is not known.
    """

    count: int
    memory: int | None = None
    free: int | None = field(default_factory=free_memory)

    def lost(self) -> tuple[type[BaseException], ...]:
        """Return the error of all tasks under way when one process dies."""
        return (BrokenExecutor,)

    def found_at(self, path: Path) -> Path:
        """Return the path as it is: they start in this process's folder."""
        return path

    @contextmanager
    def open(self) -> Iterator[Executor]:
        """Start the processes from one that has loaded the libraries; none has this process's threads and memory."""
        _load_libraries()
        context = get_context("forkserver")
        pool = ProcessPoolExecutor(self.count, mp_context=context, initializer=prepare_worker, initargs=(self.memory,))
        # The pool's threads, which it starts later, write to processes that may be gone. The command line ends at that
        # signal, and they would take it along in the middle of its clearing up.
        with _held_back(signal.SIGPIPE):
            try:
                yield pool
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def has_room(self, path: Path, *, beside: Sequence[Path]) -> bool:
        """Say whether a process is free, and enough memory; a report too large to share it waits until it is alone."""
        if len(beside) >= self.count:
            return False
        return fits(self._need(path), beside=[self._need(other) for other in beside], free=self.free)

    def _need(self, path: Path) -> int:
        return min(estimated_need(path), MOST_MEMORY if self.memory is None else self.memory)


def expect_processes(paths: Sequence[Path], *, count: int | None) -> None:
    """Load what processes need while this one loads its own, where the reports at `paths` look worth them.

    Args:
        paths: reports, or folders of them; patterns are not looked at.
        count: how many processes were asked for; None where nobody did.
    """
    reports = list(chain.from_iterable(path.iterdir() if path.is_dir() else [path] for path in paths))
    if len(reports) > 1 and _worth(reports, count=count) > 1:
        _load_libraries()


def local_workers(files: Sequence[Path], *, count: int | None, memory: int | None) -> Workers:
    """Return as many processes as there are reports or CPUs; this process where that is one, or not worth more."""
    count = min(_worth(files, count=count), len(files))
    return ThisProcess() if count <= 1 and memory is None else LocalProcesses(count=max(count, 1), memory=memory)


def _worth(files: Sequence[Path], *, count: int | None) -> int:
    """Return how many processes reports are worth where `count` does not say."""
    if count is not None:
        return count
    size = sum(path.stat().st_size for path in files if path.is_file())
    return 1 if size < _WORTH_PROCESSES else len(os.sched_getaffinity(0))


def _load_libraries() -> None:
    """Start the process that forks the others, if it is not there, and have it load what they need; this returns."""
    forkserver.set_forkserver_preload(["gapfinder.cluster.task"])
    resource_tracker.ensure_running()  # the fork server needs it, and starting it ends with Ctrl-C let through
    # Ctrl-C reaches that process too, which has no words for it while it loads.
    with _held_back(signal.SIGINT):
        forkserver.ensure_running()


@contextmanager
def _held_back(number: signal.Signals) -> Iterator[None]:
    """Hold a signal back from this thread, and from what is started meanwhile for as long as that lives."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {number})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
