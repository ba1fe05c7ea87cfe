"""Writes the folder that a watch leaves: state, step times and events. No trouble with it stops the training."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from typing import TYPE_CHECKING

from gapfinder.watch.decoding import decode_lines, decode_state
from gapfinder.watch.model import TimesRow
from gapfinder.watch.thinning import thin_out

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from gapfinder.watch.model import Event, WatchState

STATE_NAME = "watch.json"
TIMES_NAME = "times.jsonl"
EVENTS_NAME = "events.jsonl"
LARGEST_READ = 32 * 1024 * 1024
"""Bytes of a file that are read at once: of a longer one the end."""

_LARGEST_TIMES = LARGEST_READ // 2  # eight ranks for 15 hours; then rows are merged two by two
_LARGEST_EVENTS = 4 * 1024 * 1024


class Record:
    """Writes the record of a watch into `folder`, which must exist.

    A disk that is full, or a folder that cannot be written to, loses records and nothing else.
    """

    def __init__(self, folder: Path, *, report: Callable[[str], None]) -> None:
        """Begin; `report` is told once, in a sentence, when something is lost for the first time."""
        self._folder = folder
        self._report: Callable[[str], None] | None = report
        self._torn: set[str] = {TIMES_NAME, EVENTS_NAME}  # who knows how an earlier watch in this folder ended

    def write_state(self, state: WatchState) -> None:
        """Replace the state; a reader sees the old one or the new one."""
        try:
            self._replace(STATE_NAME, json.dumps(asdict(state), allow_nan=False, indent=1).encode())
        except OSError as error:
            self._lose(error)

    def add_times(self, rows: Iterable[TimesRow]) -> None:
        """Append the rows; when the file has become large, rows of one rank are merged two by two."""
        try:
            if self._append(TIMES_NAME, rows) > _LARGEST_TIMES:
                self._halve()
        except OSError as error:
            self._lose(error)

    def add_event(self, event: Event) -> None:
        """Append the event; past 4 MB, events are no longer kept."""
        try:
            if _size(self._folder / EVENTS_NAME) < _LARGEST_EVENTS:
                self._append(EVENTS_NAME, [event])
        except OSError as error:
            self._lose(error)

    def _append(self, name: str, rows: Iterable[TimesRow | Event]) -> int:
        """Append one line a row; return the size of the file."""
        lines = b"".join(_line(row) for row in rows)
        text = b"\n" + lines if name in self._torn else lines
        self._torn.add(name)
        descriptor = os.open(self._folder / name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o666)
        try:
            if os.write(descriptor, text) == len(text):
                self._torn.discard(name)
            return os.fstat(descriptor).st_size
        finally:
            os.close(descriptor)

    def _halve(self) -> None:
        data, _ = _tail(self._folder / TIMES_NAME)
        rows, _ = decode_lines(data, TimesRow)
        most = max(1, _most_of_a_rank(rows) // 2)
        self._replace(TIMES_NAME, b"".join(_line(row) for row in thin_out(rows, most=most)))

    def _replace(self, name: str, text: bytes) -> None:
        half = self._folder / f".{name}.half"
        try:
            half.write_bytes(text)
            half.replace(self._folder / name)
        except OSError:
            half.unlink(missing_ok=True)
            raise

    def _lose(self, error: OSError) -> None:
        if self._report is not None:
            self._report(
                f"the record of this watch cannot be written: {error.strerror or error} ({self._folder}); "
                "what happens meanwhile is missing from it, and the training goes on"
            )
        self._report = None


def read_state(folder: Path) -> WatchState | None:
    """Return only the state of the watch in `folder`; None where there is none that can be read."""
    data, is_cut = _tail(folder / STATE_NAME)
    return None if is_cut else decode_state(data)


def find_watches(folder: Path) -> tuple[Path, ...]:
    """Return `folder` and the folders directly in it that hold a watch, the one that started last first."""
    try:
        candidates = [folder, *(path for path in folder.iterdir() if path.is_dir())]
        found = sorted((path for path in candidates if (path / STATE_NAME).is_file()), reverse=True)
    except OSError:
        return ()
    states = {path: read_state(path) for path in found}
    return tuple(sorted(found, key=lambda path: -state.started_at if (state := states[path]) else 0.0))


def _tail(path: Path) -> tuple[bytes, bool]:
    """Return the end of a file, as much as is read at most, and whether something before it is left out."""
    try:
        if not path.is_file():
            return b"", False
        with path.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            file.seek(max(0, size - LARGEST_READ))
            return file.read(LARGEST_READ), size > LARGEST_READ
    except (OSError, ValueError):
        return b"", False


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _line(row: TimesRow | Event) -> bytes:
    return json.dumps(asdict(row), allow_nan=False).encode() + b"\n"


def _most_of_a_rank(rows: Sequence[TimesRow]) -> int:
    counts: dict[int, int] = {}
    for row in rows:
        counts[row.rank] = counts.get(row.rank, 0) + 1
    return max(counts.values(), default=0)
