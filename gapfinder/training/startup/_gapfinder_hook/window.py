"""Opens and closes the NVTX range that makes nsys capture."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .annotators import Annotator
    from .place import Place
    from .status import StatusFile

CAPTURE_RANGE = "gapfinder capture"
_CLAIM = "opener"
_WIDEST_SPACING = 8


class Window:
    """The steps `first` up to, not including, `end`; first None is before step 0, end None the end of the process.

    Attributes:
        edges: the steps at whose beginning there is something to do.
        is_opened: whether this process opened the range.
        is_closed: whether it closed it again.
        opened_at_step: the step that was under way then, or about to begin.
    """

    def __init__(self, first: int | None, end: int | None, *, is_per_process: bool) -> None:
        self._first, self.end, self._is_per_process = first, end, is_per_process
        self.edges = (first or 0, end)
        self._token: Any = None
        self.is_opened = self.is_closed = False
        self.opened_at_step: int | None = None

    @classmethod
    def parse(cls, text: str) -> Window | None:
        """Read "10:30", "10:30 each", ":"; an empty text is no window."""
        if not text:
            return None
        steps, _, each = text.partition(" ")
        first, _, end = steps.partition(":")
        return cls(int(first) if first else None, int(end) if end else None, is_per_process=each == "each")

    def mark_spacing(self) -> int:
        """Return at every how many steps to tell the place: a power of two, so that four fall into a window."""
        if self.end is None:
            return _WIDEST_SPACING
        quarter = (self.end - (self._first or 0)) // 4
        return min(_WIDEST_SPACING, 1 << max(0, quarter.bit_length() - 1))

    def opens_with_training(self) -> bool:
        """Say whether the range opens before any step."""
        return self._first is None

    def move(self, step: int, *, annotator: Annotator, place: Place, status: StatusFile) -> None:
        """Open the range if the step that begins is its first and this is the process to do so; close it at its end."""
        if self.is_opened:
            if step == self.end:
                self.close(annotator)
        elif step == (self._first or 0) and self._is_mine(place, status):
            self._token = annotator.start(annotator.prepare(CAPTURE_RANGE), annotator.domain)
            self.is_opened = True
            self.opened_at_step = step

    def close(self, annotator: Annotator) -> None:
        """Close the range if it is open."""
        if self.is_opened and not self.is_closed:
            annotator.end(self._token)
            self.is_closed = True

    def _is_mine(self, place: Place, status: StatusFile) -> bool:
        """Say whether this process opens the range for its host: local rank 0; where no launcher tells, the first."""
        if self._is_per_process:
            return True
        if place.told_local_rank is not None:
            return place.told_local_rank == 0
        return status.claim(_CLAIM)
