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
_STEPS_AHEAD = 64
_STEPS_TO_REPORT = 8

_Method = TypeVar("_Method", bound=Callable[..., bool])


def _harmless(method: _Method) -> _Method:
    """Make an error in `method` end the marking instead of the training."""

    @functools.wraps(method)
    def harmless(self: Recorder, *args: Any, **kwargs: Any) -> bool:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - a training never fails because of its profiler
            self.fail(error)
            return False

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
        self._thread = 0
        self._has_begun = self._has_pass = False
        self._is_told = self._is_in_told_step = False
        self._is_in_optimizer = self._is_saving = self._is_collecting = False
        self._step: Any = None
        self._micro_step: Any = None
        self._micro_steps = 0
        self.phase: str | None = None

    @_harmless
    def enter_forward(self, module: object) -> bool:
        """Begin a forward pass of `module`, outermost and with gradients."""
        if not self._is_marking():
            return False
        if self._micro_step is None:
            self._start_micro_step(is_synchronising=self._synchronising.tells(module))
        self._has_pass = True
        return self._enter(FORWARD)

    @_harmless
    def enter_backward(self) -> bool:
        """Begin a backward pass; a forward pass may be under way, whose loss needs gradients."""
        if self.phase == BACKWARD or not self._is_marking():
            return False
        if self._micro_step is None and self.phase is None:
            self._start_micro_step(is_synchronising=None)
        self._has_pass = True
        return self._enter(BACKWARD)

    @_harmless
    def enter_data_loading(self) -> bool:
        """Begin to wait for the next batch; a training does not begin with a loader that runs without gradients."""
        is_training = self._has_begun or self._session.has_gradients()
        return self.phase is None and is_training and self._is_marking() and self._enter(DATA_LOADING)

    @_harmless
    def leave(self, *, back_to: str | None = None, is_pass: bool = False) -> bool:
        """End the phase and go back to the one around it; the pass that gave gradients ends its micro-step."""
        if self.phase is OVER:
            return False
        self._pop()
        self.phase = back_to
        if is_pass and back_to is None:
            self._end_micro_step()
        return True

    @_harmless
    def enter_checkpoint(self) -> bool:
        """Begin to save; before training there is nothing that waits for it."""
        if self._is_saving or not self._has_begun or not self._is_marking():
            return False
        self._is_saving = self._push(CHECKPOINT)
        return True

    @_harmless
    def leave_checkpoint(self) -> bool:
        """End to save."""
        self._is_saving = False
        return self._pop()

    @_harmless
    def collect_garbage(self, moment: str, info: dict[str, int]) -> bool:
        """Mark a collection of more than the youngest objects; gc calls this when one starts and stops."""
        if moment == "start" and info["generation"] > 0 and self.phase is not OVER:
            self._is_collecting = self._push(GARBAGE_COLLECTION)
        elif moment == "stop" and self._is_collecting:
            self._is_collecting = False
            self._pop()
        return True

    @_harmless
    def add_optimizer(self, optimizer: object) -> bool:
        """Note a new optimizer."""
        self._round.add(optimizer)
        self._session.note_optimizer()
        return True

    @_harmless
    def enter_optimizer(self, optimizer: object, *, caller: str) -> bool:
        """Begin an optimizer's step; `caller` tells calls of the same optimizer inside each other apart."""
        if not self._round.enter(optimizer, caller=caller):
            return False
        self._thread = get_ident()  # a loader may have begun in a thread of its own
        if self._is_in_optimizer:  # the step before raised
            self._is_in_optimizer = False
            self._pop()
        if self._is_marking():
            self._end_micro_step()
            self._is_in_optimizer = self._push(OPTIMIZER)
        return True

    @_harmless
    def leave_optimizer(self, optimizer: object, *, caller: str) -> bool:
        """End an optimizer's step, and the training step if it was the last one of it."""
        if not self._round.leave(optimizer, caller=caller):
            return False
        if self._is_in_optimizer:
            self._is_in_optimizer = False
            self._pop()
        if (self._has_pass or self.phase is OVER) and self._round.is_complete() and not self._is_told:
            self._finish_step()
        return True

    @_harmless
    def enter_told_step(self) -> bool:
        """Begin a step that the script tells: from now on steps end where it says so, and not with an optimizer."""
        self._is_told = True
        self._is_marking()
        if self._is_in_told_step or get_ident() != self._thread:
            return False
        self._is_in_told_step = True
        return True

    @_harmless
    def leave_told_step(self) -> bool:
        """End that step."""
        self._is_in_told_step = False
        self._finish_step()
        return True

    def fail(self, error: Exception) -> None:
        """Mark nothing any more, and say why."""
        self._stop()
        self._session.complain(error)

    def after_fork(self) -> None:
        """Mark nothing in a forked child: the open ranges are its parent's."""
        self._stop()
        self._session.after_fork()
        self._is_in_optimizer, self._round = False, OptimizerRound()

    def _finish_step(self) -> None:
        self._round.begin()
        self._session.steps += 1
        self._has_pass = False
        if self.phase is not OVER:
            self._end_micro_step()
            self._session.annotator.end(self._step)
            self._start_step()
        if self._session.steps < _STEPS_TO_REPORT or self._session.steps % _STEPS_TO_REPORT == 0:
            self._session.report_if_due()

    def _start_step(self) -> None:
        if not self._session.begin_step():
            self._stop()
            return
        self._micro_steps = 0
        number = self._session.steps
        if number % _STEPS_AHEAD == 0:
            self._session.annotator.expect([f"step {one}" for one in range(number, number + _STEPS_AHEAD)])
        self._step = self._session.annotator.start(f"step {number}")

    def _start_micro_step(self, *, is_synchronising: bool | None) -> None:
        text = f"micro-step {self._micro_steps}{' sync' if is_synchronising else ''}"
        self._micro_step = self._session.annotator.start(text)
        self._micro_steps += 1

    def _end_micro_step(self) -> None:
        if self._micro_step is not None:
            self._session.annotator.end(self._micro_step)
            self._micro_step = None

    def _is_marking(self) -> bool:
        """Begin if training has not begun; say whether what this thread does is marked."""
        if not self._has_begun:
            self._begin()
        return self.phase is not OVER and get_ident() == self._thread

    def _begin(self) -> None:
        self._has_begun = True
        self._thread = get_ident()
        if self._session.is_worker():
            self._stop()
            return
        self._session.prepare()
        gc.callbacks.append(self.collect_garbage)
        self._start_step()
        self._session.report()

    def _stop(self) -> None:
        """Mark nothing any more; only count steps."""
        self._has_begun, self.phase = True, OVER
        if self.collect_garbage in gc.callbacks:
            gc.callbacks.remove(self.collect_garbage)

    def _enter(self, phase: str) -> bool:
        self.phase = phase
        return self._push(phase)

    def _push(self, text: str) -> bool:
        self._session.annotator.push(text)
        return True

    def _pop(self) -> bool:
        if self.phase is not OVER:
            self._session.annotator.pop()
        return True
