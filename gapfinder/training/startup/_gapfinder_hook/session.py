"""What one training process needs beside its marks: something that writes them, its place, its window, its status."""

from __future__ import annotations

import atexit
import sys
from typing import TYPE_CHECKING, Any

from .annotators import Silence, UnavailableError
from .place import find_place, has_process_group
from .step_stream import StepStream, map_switch

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

    from .annotators import Annotator
    from .place import Place
    from .status import StatusFile
    from .window import Window

_STEPS_TO_REPORT, _MOST_STEPS = 8, 32  # between two looks whether to report; STEPS_AHEAD is a multiple
_STEPS_TO_SETTLE = 3  # a process group is there by then, if there will be one
_FORKED = "forked from a training without a new program, which nsys does not trace"


class Session:
    """The process's side of the marks.

    Attributes:
        annotator: writes the marks; silence until `prepare`.
        place_mark: what marks the place.
        mark_spacing: at every how many steps to write it, a power of two.
        count_steps: returns how many training steps have ended.
        is_watched: whether a watch wants to know when.
    """

    def __init__(
        self,
        torch: ModuleType,
        *,
        find_annotator: Callable[[], Annotator],
        window: Window | None,
        status: StatusFile,
        watch_folder: str,
    ) -> None:
        self._torch, self._find_annotator, self._window, self._status = torch, find_annotator, window, status
        # without a window of the hook's own, a capture may begin and end at any step
        self.mark_spacing = 1 if window is None else window.mark_spacing()
        self._place: Place | None = None
        self._trouble: str | None = None
        self._is_prepared = self._was_due = False
        self.annotator: Annotator = Silence()
        self.place_mark: Any = None
        self.count_steps: Callable[[], int] = int
        self._watch_folder, self.is_watched = watch_folder, bool(watch_folder)
        self._stream: StepStream | None = None

    def is_worker(self) -> bool:
        """Say whether this process loads data for a training instead of training."""
        return self._torch.utils.data.get_worker_info() is not None

    def prepare(self) -> bool:
        """Find what writes marks, once; return whether this was the time. Raises UnavailableError."""
        if self._is_prepared:
            return False
        self._is_prepared = True
        atexit.register(self.finish)
        _at_exit_of_child(self.finish)
        self.annotator = self._find_annotator()
        self.place_mark = self.annotator.prepare(self._find_place().mark)
        return True

    def open_watch(self, now_ns: int) -> tuple[StepStream | None, memoryview | None]:
        """Return the step stream and the switch of the marks, each None where it cannot be had."""
        try:
            self._stream = StepStream(self._watch_folder, place=self._find_place(), now_ns=now_ns)
        except (OSError, ValueError) as error:
            sys.stderr.write(f"gapfinder: step times are not kept: {type(error).__name__}: {error}\n")
        try:
            return self._stream, map_switch(self._watch_folder)
        except (OSError, ValueError):  # nobody asks for marks
            return self._stream, None

    def next_busy_step(self) -> int:
        """Return which step is the next to begin with more than a mark."""
        steps = self.count_steps()
        if steps < _STEPS_TO_REPORT:
            return steps + 1
        edges = () if self._window is None else self._window.edges
        spacing = _STEPS_TO_REPORT if self._was_due else _MOST_STEPS
        multiple = steps - steps % spacing + spacing
        return min((edge for edge in edges if edge is not None and steps < edge < multiple), default=multiple)

    def note_optimizer(self) -> None:
        """Open a window that opens with training, because an optimizer was built."""
        if self._window is not None and self._window.opens_with_training():
            self.prepare()
            self._move_window()

    def begin_step(self) -> bool:
        """Do what is to be done before one of the busy steps is marked; return False after the window."""
        if self.count_steps() < _STEPS_TO_SETTLE:
            self._find_place()
        if self._window is not None and self.count_steps() in self._window.edges:
            self._move_window()
        return self._window is None or self.count_steps() != self._window.end

    def report_if_due(self) -> None:
        """Write the status if the last writing is some time ago."""
        self._was_due = self._status.is_due()
        if self._was_due:
            self.report()

    def report(self) -> None:
        """Write the status."""
        place, window = self._find_place(), self._window
        self._status.write(
            rank=place.rank,
            local_rank=place.local_rank,
            world_size=place.world_size,
            steps=self.count_steps(),
            is_window_opened=window is not None and window.is_opened,
            is_window_closed=window is not None and window.is_closed,
            opened_at_step=None if window is None else window.opened_at_step,
            annotator=self.annotator.name,
            trouble=self._trouble,
        )

    def complain(self, error: Exception) -> None:
        """Say why nothing is marked, on stderr and in the status."""
        said = str(error) if isinstance(error, UnavailableError) else f"{type(error).__name__}: {error}"
        self._trouble = said
        self.report()
        sys.stderr.write(f"gapfinder: training is not marked: {said}\n")

    def finish(self) -> None:
        """Close the window and write the status at the end of the process."""
        try:
            if self._stream is not None:
                self._stream.write()
            if self._window is not None:
                self._window.close(self.annotator)
            self.report()
        except Exception as error:  # noqa: BLE001 - the exit code is the training's
            self.complain(error)

    def after_fork(self) -> None:
        """Leave the marks to the parent: a forked child only counts its own steps."""
        self._window, self._trouble, self.annotator = None, _FORKED, Silence()
        self._is_prepared = True
        self._stream = None
        self._status.forget()
        atexit.unregister(self.finish)

    def _move_window(self) -> None:
        window = self._window
        if window is None:
            return
        before = window.is_opened, window.is_closed
        window.move(self.count_steps(), annotator=self.annotator, place=self._find_place(), status=self._status)
        if (window.is_opened, window.is_closed) != before:
            self.report()

    def _find_place(self) -> Place:
        if self._place is None or (not self._place.is_final and has_process_group(self._torch)):
            self._place = find_place(self._torch)
            self.place_mark = self.annotator.prepare(self._place.mark)
            if self._stream is not None:
                self._stream.tell(self._place)
        return self._place


def _at_exit_of_child(finish: Callable[[], None]) -> None:
    """Run `finish` at the end of a process that multiprocessing started, which skips atexit."""
    multiprocessing = sys.modules.get("multiprocessing")
    if multiprocessing is not None and multiprocessing.parent_process() is not None:
        from multiprocessing.util import Finalize

        Finalize(None, finish, exitpriority=0)
