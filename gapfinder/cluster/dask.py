"""Runs tasks on a Dask scheduler and its workers, wherever those are; needs the extra `cluster`."""

from __future__ import annotations

import importlib
from concurrent.futures import CancelledError, Executor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder import __version__
from gapfinder.errors import InputError, missing_extra

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import ModuleType

    from distributed import Client

_CONNECT_SECONDS = 10


@dataclass(frozen=True, slots=True)
class DaskWorkers:
    """The workers of one scheduler, which decides what runs where; each has the memory that it was started with.

    Attributes:
        address: of the scheduler, such as tcp://host:8786, or the file that it wrote its address to.
    """

    address: str

    def lost(self) -> tuple[type[BaseException], ...]:
        """Return Dask's error for a task whose workers died, and that of a scheduler that is gone."""
        return _distributed().KilledWorker, CancelledError

    def found_at(self, path: Path) -> Path:
        """Return the whole path: all machines must see the reports under the same one."""
        return path.absolute()

    @contextmanager
    def open(self) -> Iterator[Executor]:
        """Connect, and see that the workers there have this gapfinder."""
        with self._client() as client:
            _check_versions(client)
            yield client.get_executor(pure=False)

    def has_room(self, path: Path, *, beside: Sequence[Path]) -> bool:  # noqa: ARG002 (the scheduler knows)
        """Leave it to the scheduler, which holds back what has no worker."""
        return True

    def _client(self) -> Client:
        place = {"scheduler_file": self.address} if Path(self.address).is_file() else {"address": self.address}
        try:
            client: Client = _distributed().Client(**place, timeout=_CONNECT_SECONDS, set_as_default=False)
        except (OSError, ValueError) as error:
            raise InputError(
                f"no Dask scheduler answers at {self.address}; give tcp://HOST:PORT or the file named by "
                "`dask scheduler --scheduler-file`"
            ) from error
        return client


def _distributed() -> ModuleType:
    try:
        return importlib.import_module("distributed")
    except ModuleNotFoundError as error:
        raise missing_extra("--scheduler", needs="Dask", extra="cluster") from error


def _check_versions(client: Client) -> None:
    """Raise where a worker that is there already has no gapfinder, or another one."""
    for worker, found in client.run(_version, on_error="return").items():
        if found != __version__:
            has = f"gapfinder {found}" if isinstance(found, str) else "no gapfinder"
            raise InputError(f"the Dask worker {worker} has {has}, not {__version__}; install the same on all of them")


def _version() -> str:
    """Return the version of gapfinder where this runs; it is found by name there, not sent."""
    return __version__
