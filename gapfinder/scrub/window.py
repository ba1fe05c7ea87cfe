"""Chooses the rows that touch a window; they are copied whole, so that no number of theirs changes."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from gapfinder.load.nvtx import MARK, RANGE_TYPES
from gapfinder.load.schema import RUNTIME
from gapfinder.scrub.kept import Timing
from gapfinder.tables import PROCESS_MASK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gapfinder.load.database import Database
    from gapfinder.load.schema_check import Value

    Row = tuple[Value, ...]
    Places = Mapping[str, int]

_RANK_MARK = b"rank="
_CALL = ("start", "end", "globalTid", "correlationId")


class Window:
    """What is copied of the time from `start` to `end`, in ns.

    The host launches ahead of the GPU. So what is kept of the host reaches from the first launch of something that runs
    in the window to the window's end, or that of the last such launch.

    Attributes:
        found: rows so far that touch it.
    """

    def __init__(self, start: int, end: int, *, database: Database) -> None:
        self.start, self.end = start, end
        self.found = 0
        self._database = database
        self._launched: set[tuple[int, int]] = set()
        self._host: tuple[int, int] | None = None

    def chooser(self, timing: Timing, columns: Sequence[str]) -> Callable[[Row], bool] | None:
        """Return what tells whether a row of these columns is copied; None where all of them are.

        Tables of work on the GPU come before those of the host.
        """
        if timing is Timing.ALWAYS:
            return None
        places = {name: place for place, name in enumerate(columns)}
        if timing is Timing.WORK:
            return partial(self._is_work, places=places)
        if self._host is None:
            self._host = self._launching()
        choose = {Timing.HOST: self._is_host, Timing.POINT: self._is_point, Timing.EVENT: self._is_event}.get(timing)
        return (lambda _row: False) if choose is None else partial(choose, places=places)

    def _launching(self) -> tuple[int, int]:
        """Return the time of the host that the window needs."""
        start, end = self.start, self.end
        if set(_CALL).issubset(self._database.columns(RUNTIME)):
            for began, ended, thread, correlation in self._database.rows(RUNTIME, _CALL):
                if isinstance(began, int) and isinstance(ended, int) and _key(thread, correlation) in self._launched:
                    start, end = min(start, began), max(end, ended)
        return start, end

    def _is_work(self, row: Row, places: Places) -> bool:
        touches = self._touches(row, places, (self.start, self.end))
        if touches and "globalPid" in places and "correlationId" in places:
            key = _key(row[places["globalPid"]], row[places["correlationId"]])
            if key is not None:
                self._launched.add(key)
        return touches

    def _is_host(self, row: Row, places: Places) -> bool:
        return self._touches(row, places, self._host or (self.start, self.end))

    def _is_point(self, row: Row, places: Places) -> bool:
        at = row[places["start"]] if "start" in places else None
        start, end = self._host or (self.start, self.end)
        touches = isinstance(at, int) and start <= at < end
        self.found += touches
        return touches

    def _is_event(self, row: Row, places: Places) -> bool:
        kind = row[places["eventType"]] if "eventType" in places else None
        if kind == MARK:
            return self._is_point(row, places) or self._tells_rank(row, places)
        if kind not in RANGE_TYPES:
            return True  # names of domains and categories, which are at no time
        return self._touches(row, places, self._host or (self.start, self.end), is_open=row[places["end"]] is None)

    def _touches(self, row: Row, places: Places, window: tuple[int, int], *, is_open: bool = False) -> bool:
        start, end = (row[places[name]] if name in places else None for name in ("start", "end"))
        touches = (
            isinstance(start, int)
            and start < window[1]
            and (is_open or (isinstance(end, int) and (end > window[0] or start == end == window[0])))
        )
        self.found += touches and not is_open
        return touches

    def _tells_rank(self, row: Row, places: Places) -> bool:
        text = row[places["text"]] if "text" in places else None
        number = row[places["textId"]] if "textId" in places else None
        if text is None and isinstance(number, int):
            text = self._database.strings.get(number)
        return isinstance(text, bytes) and _RANK_MARK in text


def _key(process: Value, correlation: Value) -> tuple[int, int] | None:
    """Return what a call and the work that it launched have in common; None where one of them does not tell."""
    if not isinstance(process, int) or not isinstance(correlation, int) or correlation <= 0:
        return None
    return process & PROCESS_MASK, correlation
