"""Turns what a training does into steps, micro-steps and phases, as NVTX ranges."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from threading import get_ident
from typing import TYPE_CHECKING, Any, TypeVar

from .rounds import STEP, OptimizerRound
from .synchronising import Synchronising

if TYPE_CHECKING:
    from .annotators import Write
    from .session import Session

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
DATA_LOADING, CHECKPOINT, GARBAGE_COLLECTION = "data loading", "checkpoint", "garbage collection"
OVER = "over"
_STEPS_AHEAD = 16
_STEPS_TO_REPORT = 8
_NOBODY = 0  # no thread has this ident
UNMARKED = object()  # a micro-step without a range

_Method = TypeVar("_Method", bound=Callable[..., bool])


def _harmless(method: _Method) -> _Method:
    """Make an error in `method` end the marking instead of the training.

    What runs in every step has the same written out: a function around it would cost more than the mark.
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

    Forward passes, backward passes and data loading keep the attributes below by themselves, in attach.py: functions
    for that would cost more than the marks. Of a checkpoint and of a told step, `enter_…` returns whether the matching
    `leave_…` has something to end.

    Attributes:
        phase: the forward, backward or data loading that is under way; OVER when nothing is marked any more.
        thread: the one that trains.
        has_pass: whether there has been a pass in this step.
        micro_step: what ends the micro-step under way; UNMARKED where it has no range, None between micro-steps.
        push_forward, push_backward, push_data_loading, pop: write the range of a phase.
    """

    def __init__(self, session: Session, *, is_compiling: Callable[[], bool]) -> None:
        self._session, self._is_compiling = session, is_compiling
        self._round, self._synchronising = OptimizerRound(), Synchronising()
        self.thread = _NOBODY
        self._has_begun = self.has_pass = False
        self._is_told = self._is_in_told_step = False
        self._is_in_optimizer = self._is_saving = self._is_collecting = False
        # Compiled functions, from the beginning on.
        self.push_forward: Write = _nothing
        self.push_backward: Write = _nothing
        self.push_data_loading: Write = _nothing
        self._push_optimizer: Write = _nothing
        self._push_checkpoint: Write = _nothing
        self._push_collection: Write = _nothing
        self.pop: Write = _nothing
        self._end: Callable[[Any], object] = _nothing
        self._step_starts: list[Callable[[], Any]] = []
        self._step: Any = None
        self.micro_step: Any = None
        self._micro_steps = 0  # passes that gave gradients, or will, in this step
        self._has_micro_steps = True  # whether they are marked: not where the first step has one, until one has more
        self.phase: str | None = None

    @_harmless
    def begin(self) -> bool:
        """Begin in this thread if training has not begun; return whether that is what happened, and it is marked."""
        if self._has_begun:
            return False
        self._has_begun = True
        if self._session.is_worker():
            self._stop()
            return False
        self._session.prepare()
        annotator = self._session.annotator
        self.push_forward, self.push_backward = annotator.pusher(FORWARD), annotator.pusher(BACKWARD)
        self.push_data_loading, self._push_optimizer = annotator.pusher(DATA_LOADING), annotator.pusher(OPTIMIZER)
        self._push_checkpoint = annotator.pusher(CHECKPOINT)
        self._push_collection = annotator.pusher(GARBAGE_COLLECTION)
        self.pop, self._end = annotator.pop, annotator.end
        self.thread = get_ident()
        gc.callbacks.append(self.collect_garbage)
        self._start_step()
        self._session.report()
        return self.phase is not OVER

    def start_micro_step(self, model: object) -> None:
        """Begin a micro-step with a pass of `model`, if that is known."""
        number = self._micro_steps
        self._micro_steps = number + 1
        self._has_micro_steps = True
        is_synchronising = model is not None and self._synchronising.tells(model)
        self.micro_step = self._session.annotator.start(f"micro-step {number}{' sync' if is_synchronising else ''}")

    def end_micro_step(self) -> None:
        """End the micro-step under way, if there is one."""
        token = self.micro_step
        self.micro_step = None
        if token is not None and token is not UNMARKED:
            self._end(token)

    @_harmless
    def enter_checkpoint(self) -> bool:
        """Begin to save; before training there is nothing that waits for it."""
        if self._is_saving or not self._has_begun or get_ident() != self.thread:
            return False
        self._push_checkpoint()
        self._is_saving = True
        return True

    @_harmless
    def leave_checkpoint(self) -> bool:
        """End to save."""
        if self._is_saving:
            self._is_saving = False
            self.pop()
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

    def enter_optimizer(self, optimizer: object, *_from_torch: object, caller: str = STEP) -> None:
        """Begin an optimizer's step: a hook of torch, which also gives the step's arguments.

        Args:
            optimizer: whose step it is.
            caller: tells calls of the same optimizer inside each other apart.
        """
        if self._is_compiling():  # the compiler reads this, and must find nothing to compile
            return
        try:
            if not self._round.enter(optimizer, caller) or self.phase is OVER or not (self._has_begun or self.begin()):
                return
            self.thread = get_ident()  # a loader may have begun in a thread of its own
            if self._is_in_optimizer:  # the step before raised
                self.pop()
            if self.has_pass and self.micro_step is not None:
                self.end_micro_step()
            self._push_optimizer()
            self._is_in_optimizer = True
        except Exception as error:  # noqa: BLE001 - as in _harmless
            self.fail(error)

    def leave_optimizer(self, optimizer: object, *_from_torch: object, caller: str = STEP) -> None:
        """End an optimizer's step, and the training step if it was the last one of it; a hook of torch as well."""
        if self._is_compiling():
            return
        try:
            if not self._round.leave(optimizer, caller):
                return
            if self._is_in_optimizer:
                self._is_in_optimizer = False
                self.pop()
            if (self.has_pass or self.phase is OVER) and self._round.is_complete and not self._is_told:
                self._finish_step()
        except Exception as error:  # noqa: BLE001 - as in _harmless
            self.fail(error)

    @_harmless
    def enter_told_step(self) -> bool:
        """Begin a step that the script tells: from now on steps end where it says so, and not with an optimizer."""
        self._is_told = True
        if not self._has_begun:
            self.begin()
        if self._is_in_told_step or (self.phase is not OVER and get_ident() != self.thread):
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
        session.steps = steps = session.steps + 1
        self.has_pass = False
        if self.phase is not OVER:
            if self.micro_step is not None:
                self.end_micro_step()
            if steps == 1:
                self._has_micro_steps = self._micro_steps > 1
            self._end(self._step)
            self._start_step()
        if steps < _STEPS_TO_REPORT or steps % _STEPS_TO_REPORT == 0:
            session.report_if_due()

    def _start_step(self) -> None:
        session = self._session
        steps = session.steps
        if steps in session.busy_steps and not session.begin_step():
            self._stop()
            return
        session.mark()
        if self._has_micro_steps:
            self._micro_steps = 0
        else:  # as if the first had begun: the step itself tells as much, for less
            self._micro_steps, self.micro_step = 1, UNMARKED
        ahead = steps % _STEPS_AHEAD
        if ahead == 0:
            self._step_starts = session.annotator.starters([f"step {steps + more}" for more in range(_STEPS_AHEAD)])
        self._step = self._step_starts[ahead]()

    @_harmless
    def _mark_collection(self, moment: str) -> bool:
        if moment == "start":
            self._push_collection()
            self._is_collecting = True
        elif self._is_collecting:
            self._is_collecting = False
            self.pop()
        return True

    def _stop(self) -> None:
        """Mark nothing any more; only count steps."""
        self._has_begun, self.phase, self.thread = True, OVER, _NOBODY
        self._is_in_optimizer = self._is_saving = self._is_collecting = False
        if self.collect_garbage in gc.callbacks:
            gc.callbacks.remove(self.collect_garbage)


def never() -> bool:
    """Say no: what a torch without compiler answers."""
    return False


def _nothing(*_: object) -> None:
    """Stand for what has not been found yet."""
