"""Follows the record of a watch while it grows: only what is new is read, as a long one takes seconds to read whole."""

from __future__ import annotations

import os
import threading
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Generic, TypeVar

from gapfinder.watch.decoding import decode_lines
from gapfinder.watch.model import Event, TimesRow
from gapfinder.watch.record import EVENTS_NAME, LARGEST_READ, TIMES_NAME, read_state
from gapfinder.watch.thinning import thin_out

if TYPE_CHECKING:
    from pathlib import Path

    from gapfinder.watch.model import WatchState

Row = TypeVar("Row", TimesRow, Event)

_MOST_TIMES = 5_000
_MOST_EVENTS = 10_000


@dataclass(frozen=True, kw_only=True, slots=True)
class WatchRecord:
    """What is left of a watch, or there so far.

    Attributes:
        state: None where it is missing or no state.
        times: in the order in which they were written; past 10,000 of a rank, neighbours are merged into 5,000.
        events: likewise; the last 10,000.
        unread: lines that are no row or event, as after a full disk; they are left out.
    """

    state: WatchState | None
    times: tuple[TimesRow, ...]
    events: tuple[Event, ...]
    unread: int = 0


class FollowedRecord:
    """The record in one folder; any thread may ask."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._times = _Lines(folder / TIMES_NAME, kind=TimesRow)
        self._events = _Lines(folder / EVENTS_NAME, kind=Event)
        self._known: tuple[str, WatchRecord] | None = None

    def read(self, mark: str) -> WatchRecord:
        """Return what is recorded; the same as before where `mark`, the state of the files, is."""
        with self._lock:
            if self._known is None or self._known[0] != mark:
                self._known = mark, self._read()
            return self._known[1]

    def _read(self) -> WatchRecord:
        for lines in (self._times, self._events):
            lines.read_on()
        counts = Counter(row.rank for row in self._times.rows)
        if max(counts.values(), default=0) > 2 * _MOST_TIMES:
            self._times.rows = list(thin_out(self._times.rows, most=_MOST_TIMES))
        self._events.rows = self._events.rows[-_MOST_EVENTS:]
        return WatchRecord(
            state=read_state(self._folder),
            times=tuple(self._times.rows),
            events=tuple(self._events.rows),
            unread=self._times.unread + self._events.unread,
        )


class _Lines(Generic[Row]):
    """The rows of one file to which others append, up to its last whole line."""

    def __init__(self, path: Path, *, kind: type[Row]) -> None:
        self._path = path
        self._kind: type[Row] = kind
        self._number = -1
        self._offset = 0
        self.rows: list[Row] = []
        self.unread = 0

    def read_on(self) -> None:
        """Read what is new; all of it where the file is another one, such as one that was made shorter."""
        try:
            if not self._path.is_file():  # opening a pipe would wait for somebody who writes into it
                raise FileNotFoundError(self._path)
            with self._path.open("rb") as file:
                state = os.fstat(file.fileno())
                is_same = state.st_ino == self._number and state.st_size >= self._offset
                begin = self._offset if is_same else max(state.st_size - LARGEST_READ, 0)
                file.seek(begin)
                data = file.read(LARGEST_READ)
        except OSError:
            is_same, begin, data, number = False, 0, b"", -1
        else:
            number = state.st_ino
        if not is_same:
            self.rows, self.unread = [], 0
        whole = data[: data.rfind(b"\n") + 1]
        if begin and not is_same:
            whole = whole.partition(b"\n")[2]  # it begins within a line
        rows, unread = decode_lines(whole, self._kind)
        self.rows += rows
        self.unread += unread
        self._number, self._offset = number, begin + data.rfind(b"\n") + 1
