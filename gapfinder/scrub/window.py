"""Chooses the rows that touch a window; they are copied whole, so that no number of theirs changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.load.nvtx import MARK, RANGE_TYPES
from gapfinder.scrub.kept import Timing
from gapfinder.tables import PROCESS_MASK

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from gapfinder.load.database import Value

    Row = tuple[Value, ...]

_RANK_MARK = b"rank="


class Window:
    """Rows from `start` to `end` in ns.

    Attributes:
        found: rows seen so far that touch it.
    """

    def __init__(self, start: int, end: int, *, strings: Mapping[int, bytes]) -> None:
        self.start, self.end = start, end
        self.found = 0
        self._strings = strings
        self._launched: set[tuple[int, Value]] = set()

    def chooser(self, timing: Timing, columns: Sequence[str]) -> Callable[[Row], bool] | None:
        """Return what tells whether a row of these columns is copied; None where all of them are."""
        places = {name: place for place, name in enumerate(columns)}
        choose = {
            Timing.SPAN: self._is_span,
            Timing.POINT: self._is_point,
            Timing.WORK: self._is_work,
            Timing.CALL: self._is_call,
            Timing.EVENT: self._is_event,
        }.get(timing)
        return None if choose is None else lambda row: choose(row, places)

    def _is_span(self, row: Row, places: Mapping[str, int]) -> bool:
        start, end = row[places["start"]], row[places["end"]]
        touches = (
            isinstance(start, int)
            and isinstance(end, int)
            and start < self.end
            and (end > self.start or start == end == self.start)
        )
        self.found += touches
        return touches

    def _is_point(self, row: Row, places: Mapping[str, int]) -> bool:
        start = row[places["start"]]
        touches = isinstance(start, int) and self.start <= start < self.end
        self.found += touches
        return touches

    def _is_work(self, row: Row, places: Mapping[str, int]) -> bool:
        touches = self._is_span(row, places)
        if touches:
            self._launched.add(_launch(row, places, process="globalPid"))
        return touches

    def _is_call(self, row: Row, places: Mapping[str, int]) -> bool:
        return self._is_span(row, places) or _launch(row, places, process="globalTid") in self._launched

    def _is_event(self, row: Row, places: Mapping[str, int]) -> bool:
        kind = row[places["eventType"]]
        if kind == MARK:
            return self._is_point(row, places) or self._tells_rank(row, places)
        if kind not in RANGE_TYPES:
            return True  # names of domains and categories, which are at no time
        if row[places["end"]] is None:
            start = row[places["start"]]
            return isinstance(start, int) and start < self.end
        return self._is_span(row, places)

    def _tells_rank(self, row: Row, places: Mapping[str, int]) -> bool:
        text = row[places["text"]] if "text" in places else None
        number = row[places["textId"]] if "textId" in places else None
        if text is None and isinstance(number, int):
            text = self._strings.get(number)
        return isinstance(text, bytes) and _RANK_MARK in text


def _launch(row: Row, places: Mapping[str, int], *, process: str) -> tuple[int, Value]:
    """Return what a call and what it launched have in common."""
    key = row[places[process]] if process in places else None
    correlation = row[places["correlationId"]] if "correlationId" in places else None
    return (key & PROCESS_MASK if isinstance(key, int) else 0), correlation
