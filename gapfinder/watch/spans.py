"""Spans of time in which a capture, or its analysis, disturbed the training."""

from __future__ import annotations

from collections import OrderedDict

_KEPT = 64


class Spans:
    """The last spans, each known by its start; one without an end is still going on."""

    def __init__(self) -> None:
        self._ends: OrderedDict[int, int | None] = OrderedDict()

    def put(self, start_ns: int, end_ns: int | None) -> None:
        """Add a span, or give the one that started then its end."""
        self._ends[start_ns] = end_ns
        while len(self._ends) > _KEPT:
            self._ends.popitem(last=False)

    def touch(self, start_ns: int, end_ns: int) -> bool:
        """Say whether any of them has a time in common with this one, be it a moment."""
        return any(start <= end_ns and (end is None or start_ns <= end) for start, end in self._ends.items())

    def last_end_ns(self) -> int | None:
        """Return when the last one ended; None where there was none, or one is going on."""
        ends = list(self._ends.values())
        return None if None in ends else max((end for end in ends if end is not None), default=None)

    @property
    def is_open(self) -> bool:
        """Whether one is going on."""
        return None in self._ends.values()
