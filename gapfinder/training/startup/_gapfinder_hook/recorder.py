"""Turns what a training does into steps, micro-steps and phases, as NVTX ranges."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING, Any, TypeVar

from .rounds import OptimizerRound
from .synchronising import Synchronising

if TYPE_CHECKING:
    from .session import Session

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
DATA_LOADING, CHECKPOINT, GARBAGE_COLLECTION = "data loading", "checkpoint", "garbage collection"
OVER = "over"
_PUSHED = (FORWARD, BACKWARD, OPTIMIZER, DATA_LOADING, CHECKPOINT, GARBAGE_COLLECTION)
_STEPS_AHEAD = 16
_STEPS_TO_REPORT = 8
_NOBODY = 0  # no thread has this ident
_UNMARKED = object()  # a micro-step without a range

_Method = TypeVar("_Method", bound=Callable[..., bool])


def _harmless(method: _Method) -> _Method:
    """Make an error in `method` end the marking instead of the training.

    What runs several times in each step has the same written out: a function around it would cost more than the mark.
    """

    @functools.wraps(method)
    def harmless(self: Recorder, *args: Any, **kwargs: Any) -> bool:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - a training never fails because of its profiler
            return self.fail(error)

    return harmless  # type: ignore[return-value]


class Recorder:
    """The marks of one process, in the thread that trains.

    Every `enter_…` returns whether it opened a range, which the matching `leave_…` then closes.

    Attributes:
        phase: the forward, backward or data loading that is under way; OVER when nothing is marked any more.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self._round, self._synchronising = OptimizerRound(), Synchronising()
        self._thread = _NOBODY
        self._has_begun = self._has_pass = False
        self._is_told = self._is_in_told_step = False
        self._is_in_optimizer = self._is_saving = self._is_collecting = False
        self._push: dict[str, Callable[[], object]] = {}  # by text, from the beginning on
        self._pop: Callable[[], object] = _nothing
        self._step_starts: list[Callable[[], Any]] = []
        self._step: Any = None
        self._micro_step: Any = None
        self._micro_steps = 0  # passes that gave gradients, or will, in this step
        self._has_micro_steps = True  # whether they are marked: not where the first step has one, until one has more
        self.phase: str | None = None

    def enter_forward(self, module: object) -> bool:
        """Begin a forward pass of `module`, outermost and with gradients."""
        try:
            if get_ident() != self._thread and not self._begin():
                return False
            if self._micro_step is None:
                self._start_micro_step(module)
            self._has_pass = True
            self.phase = FORWARD
            self._push[FORWARD]()
        except Exception as error:  # noqa: BLE001 - as in _harmless
            return self.fail(error)
        return True

    def enter_backward(self) -> bool:
        """Begin a backward pass; a forward pass may be under way, whose loss needs gradients."""
        try:
            if get_ident() != self._thread and not self._begin():
                return False
            if self._micro_step is None and self.phase is None:
                self._start_micro_step(None)
            self._has_pass = True
            self.phase = BACKWARD
            self._push[BACKWARD]()
        except Exception as error:  # noqa: BLE001 - as in _harmless
            return self.fail(error)
        return True

    def enter_data_loading(self) -> bool:
        """Begin to wait for the next batch; a training does not begin with a loader that runs without gradients."""
        try:
            if self.phase is not None or not (self._has_begun or self._session.has_gradients()):
                return False
            if get_ident() != self._thread and not self._begin():
                return False
            self.phase = DATA_LOADING
            self._push[DATA_LOADING]()
        except Exception as error:  # noqa: BLE001 - as in _harmless
            return self.fail(error)
        return True

    def leave(self, *, back_to: str | None = None, is_pass: bool = False) -> bool:
        """End the phase and go back to the one around it; the pass that gave gradients ends its micro-step."""
        if self.phase is OVER:
            return False
        try:
            self._pop()
            self.phase = back_to
            if is_pass and back_to is None:
                self._end_micro_step()
        except Exception as error:  # noqa: BLE001 - as in _harmless
            return self.fail(error)
        return True

    @_harmless
    def enter_checkpoint(self) -> bool:
        """Begin to save; before training there is nothing that waits for it."""
        if self._is_saving or not self._has_begun or get_ident() != self._thread:
            return False
        self._push[CHECKPOINT]()
        self._is_saving = True
        return True

    @_harmless
    def leave_checkpoint(self) -> bool:
        """End to save."""
        if self._is_saving:
            self._is_saving = False
            self._pop()
        return True

    def collect_garbage(self, moment: str, info: dict[str, int]) -> bool:
        """Mark a collection of more than the youngest objects; gc calls this when one starts and stops."""
        if info["generation"] == 0 or self.phase is OVER:
            return False
        return self._mark_collection(moment)

    @_harmless
    def add_optimizer(self, optimizer: object) -> bool:
        """Note a new optimizer."""
        self._round.add(optimizer)
        self._session.note_optimizer()
        return True

    def enter_optimizer(self, optimizer: object, *, caller: str) -> bool:
        """Begin an optimizer's step; `caller` tells calls of the same optimizer inside each other apart."""
        try:
            if not self._round.enter(optimizer, caller=caller):
                return False
            if self.phase is OVER or not (self._has_begun or self._begin()):
                return True
            self._thread = get_ident()  # a loader may have begun in a thread of its own
            if self._is_in_optimizer:  # the step before raised
                self._pop()
            self._end_micro_step()
            self._push[OPTIMIZER]()
            self._is_in_optimizer = True
        except Exception as error:  # noqa: BLE001 - as in _harmless
            return self.fail(error)
        return True

    def leave_optimizer(self, optimizer: object, *, caller: str) -> bool:
        """End an optimizer's step, and the training step if it was the last one of it."""
        try:
            if not self._round.leave(optimizer, caller=caller):
                return False
            if self._is_in_optimizer:
                self._is_in_optimizer = False
                self._pop()
            if (self._has_pass or self.phase is OVER) and self._round.is_complete() and not self._is_told:
                self._finish_step()
        except Exception as error:  # noqa: BLE001 - as in _harmless
            return self.fail(error)
        return True

    @_harmless
    def enter_told_step(self) -> bool:
        """Begin a step that the script tells: from now on steps end where it says so, and not with an optimizer."""
        self._is_told = True
        if not self._has_begun:
            self._begin()
        if self._is_in_told_step or (self.phase is not OVER and get_ident() != self._thread):
            return False
        self._is_in_told_step = True
        return True

    @_harmless
    def leave_told_step(self) -> bool:
        """End that step."""
        self._is_in_told_step = False
        self._finish_step()
        return True

    def fail(self, error: Exception) -> bool:
        """Mark nothing any more, and say why; return that no range was opened."""
        self._stop()
        self._session.complain(error)
        return False

    def after_fork(self) -> None:
        """Mark nothing in a forked child: the open ranges are its parent's."""
        self._stop()
        self._session.after_fork()
        self._round = OptimizerRound()

    def _finish_step(self) -> None:
        self._round.begin()
        session = self._session
        session.steps += 1
        self._has_pass = False
        if self.phase is not OVER:
            self._end_micro_step()
            if session.steps == 1:
                self._has_micro_steps = self._micro_steps > 1
            session.annotator.end(self._step)
            self._start_step()
        if session.steps < _STEPS_TO_REPORT or session.steps % _STEPS_TO_REPORT == 0:
            session.report_if_due()

    def _start_step(self) -> None:
        session = self._session
        if not session.begin_step():
            self._stop()
            return
        self._micro_steps = 0
        ahead = session.steps % _STEPS_AHEAD
        if ahead == 0:
            numbers = range(session.steps, session.steps + _STEPS_AHEAD)
            self._step_starts = session.annotator.starters([f"step {number}" for number in numbers])
        self._step = self._step_starts[ahead]()

    def _start_micro_step(self, model: object) -> None:
        number = self._micro_steps
        self._micro_steps = number + 1
        if number:
            self._has_micro_steps = True
        elif not self._has_micro_steps:  # the step itself tells as much, for less
            self._micro_step = _UNMARKED
            return
        is_synchronising = model is not None and self._synchronising.tells(model)
        self._micro_step = self._session.annotator.start(f"micro-step {number}{' sync' if is_synchronising else ''}")

    def _end_micro_step(self) -> None:
        token = self._micro_step
        self._micro_step = None
        if token is not None and token is not _UNMARKED:
            self._session.annotator.end(token)

    @_harmless
    def _mark_collection(self, moment: str) -> bool:
        if moment == "start":
            self._push[GARBAGE_COLLECTION]()
            self._is_collecting = True
        elif self._is_collecting:
            self._is_collecting = False
            self._pop()
        return True

    def _begin(self) -> bool:
        """Begin in this thread if training has not begun; return whether that is what happened, and it is marked."""
        if self._has_begun:
            return False
        self._has_begun = True
        if self._session.is_worker():
            self._stop()
            return False
        self._session.prepare()
        annotator = self._session.annotator
        self._push = {text: annotator.pusher(text) for text in _PUSHED}
        self._pop = annotator.pop
        self._thread = get_ident()
        gc.callbacks.append(self.collect_garbage)
        self._start_step()
        self._session.report()
        return self.phase is not OVER

    def _stop(self) -> None:
        """Mark nothing any more; only count steps."""
        self._has_begun, self.phase, self._thread = True, OVER, _NOBODY
        self._is_in_optimizer = self._is_saving = self._is_collecting = False
        if self.collect_garbage in gc.callbacks:
            gc.callbacks.remove(self.collect_garbage)


def _nothing() -> None:
    """Stand for what has not been found yet."""
