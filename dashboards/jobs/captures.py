"""Makes profiles of the captures that watches take, as if they had been named on the command line."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from gapfinder.errors import GapfinderError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from dashboards.jobs.queue import Queue
    from dashboards.store.store import Store

_LONGEST_S = 0.5


class Watches:
    """Folders that are or hold watches, and the profiles made of their captures.

    A capture is taken once: a profile that was deleted does not come back until the next start.
    """

    def __init__(self, roots: tuple[Path, ...], *, store: Store, queue: Queue) -> None:
        self.roots = roots
        self._store = store
        self._queue = queue
        self._lock = threading.Lock()
        self._taken: dict[Path, str] = {}
        self._troubles: dict[Path, str] = {}

    def take(self, reports: Mapping[Path, str]) -> None:
        """Add reports, with their names, to the store and have them prepared, as many as half a second allows.

        To read a large one takes seconds: whoever asks meanwhile does not wait. One that was refused, as by a full
        disk, is tried again.
        """
        if not self._lock.acquire(blocking=False):
            return
        try:
            started_s = time.monotonic()
            waiting = [report for report in reports if report not in self._taken]
            for report in sorted(waiting, key=self._troubles.__contains__):  # those that were refused come last
                self._take(report, name=reports[report])
                if time.monotonic() - started_s > _LONGEST_S:
                    break
        finally:
            self._lock.release()

    def profile_of(self, report: Path) -> str | None:
        """Return the id of the profile that a report became; None where it was not taken since the start."""
        return self._taken.get(report)

    def trouble_of(self, report: Path) -> str | None:
        """Return why a report could not become a profile, in one line; None where nothing is known of that."""
        return self._troubles.get(report)

    def _take(self, report: Path, *, name: str) -> None:
        try:
            profile = self._store.add([report], name=name)
            if not profile.is_ready:
                self._queue.submit(profile.id)
        except GapfinderError as error:
            self._troubles[report] = " ".join(str(error).split())
        else:
            self._taken[report] = profile.id
            self._troubles.pop(report, None)
