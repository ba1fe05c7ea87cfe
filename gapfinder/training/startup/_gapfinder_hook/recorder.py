"""Turns what a training does into steps, micro-steps and phases, as NVTX ranges."""

from __future__ import annotations

import functools
import gc
from collections.abc import Callable
from threading import get_ident
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, TypeVar

from .rounds import STEP, OptimizerRound
from .step_stream import COUNT_WORD, ENTRIES, FIRST_WORD
from .synchronising import Synchronising

if TYPE_CHECKING:
    from .annotators import Write
    from .session import Session

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
DATA_LOADING, CHECKPOINT, GARBAGE_COLLECTION = "data loading", "checkpoint", "garbage collection"
QUIET, OVER = "quiet", "over"
_STEPS_AHEAD = 16
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
        phase: the forward, backward or data loading that is under way; QUIET while a watch wants no marks; OVER when
            nothing is marked any more.
        thread: the one that trains.
        has_pass: whether there has been a pass in this step.
        micro_step: what ends the micro-step under way; UNMARKED where it has no range, None between micro-steps.
        push_forward, push_backward, push_data_loading, pop: write the range of a phase.
        is_timing: whether a backward pass is under way whose time a watch wants to know.
        apart_since: when this step would have begun without its backward passes; for a watch.
    """

    def __init__(self, session: Session, *, is_compiling: Callable[[], bool]) -> None:
        self._session, self._is_compiling = session, is_compiling
        self._round, self._synchronising = OptimizerRound(), Synchronising()
        self.thread = _NOBODY
        self._has_begun = self.has_pass = False
        self._is_told = self._is_in_told_step = False
        self._is_in_optimizer = self._is_saving = self._is_collecting = False
        self._is_marking = self._is_first_marked = self._has_failed = False
        self._attention = 0  # the step at whose beginning there is more to do than a mark
        self._words: memoryview | None = None  # of the step stream
        self._switch: memoryview | None = None  # the byte by which a watch asks for marks
        self.is_timing = False
        self.apart_since = 0
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
        self.thread = get_ident()
        if self._session.is_watched:
            self.phase = QUIET
            self.apart_since = monotonic_ns()
            self._words, self._switch = self._session.open_watch(self.apart_since)
        self._session.prepare()
        annotator = self._session.annotator
        self.push_forward, self.push_backward = annotator.pusher(FORWARD), annotator.pusher(BACKWARD)
        self.push_data_loading, self._push_optimizer = annotator.pusher(DATA_LOADING), annotator.pusher(OPTIMIZER)
        self._push_checkpoint = annotator.pusher(CHECKPOINT)
        self._push_collection = annotator.pusher(GARBAGE_COLLECTION)
        self.pop, self._end = annotator.pop, annotator.end
        if not self._session.is_watched:
            self._turn_on(0)
        self._next_step(0)
        self._session.report()
        return self._is_marking

    def begin_here(self) -> bool:
        """Begin if training has not begun; return whether it is this thread that trains."""
        return self.begin() or get_ident() == self.thread

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
        if self._is_saving or not self._is_marking or get_ident() != self.thread:
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
            if not self._is_marking:
                return
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
                self._next_step(self._session.steps + 1)
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
        self._next_step(self._session.steps + 1)
        return True

    def fail(self, error: Exception) -> bool:
        """Mark nothing any more, and say why; return that no range was opened. A watch still sees the steps."""
        if self._words is None or self._has_failed:
            self._stop()
        else:
            self._forget_marks()
            self._has_failed, self.phase, self._switch = True, QUIET, None
        self._session.complain(error)
        return False

    def after_fork(self) -> None:
        """Mark nothing in a forked child: the open ranges are its parent's."""
        self._stop()
        self._words = self._switch = None
        self._attention = 0
        self._session.after_fork()
        self._round = OptimizerRound()

    def _next_step(self, steps: int) -> None:
        """End the step under way, if there is one, and begin the next, before which `steps` have ended."""
        self._round.begin()
        session = self._session
        session.steps = steps
        self.has_pass = False
        words = self._words
        if words is not None and steps:
            now = monotonic_ns()
            at = FIRST_WORD + (steps - 1) % ENTRIES * 2
            words[at] = now
            words[at + 1] = min(self.apart_since, now)
            words[COUNT_WORD] = steps
            self.apart_since = now
        if self._step is not None:
            if self.micro_step is not None:
                self.end_micro_step()
            if self._is_first_marked:
                self._is_first_marked = False
                self._has_micro_steps = self._micro_steps > 1
            self._end(self._step)
            self._step = None
        if self._switch is not None and (self._switch[0] == 1) is not self._is_marking:
            self._turn(steps)
        is_busy = steps >= self._attention
        if is_busy:
            self._attend(steps)
        if self._is_marking:
            session.mark()
            if self._has_micro_steps:
                self._micro_steps = 0
            else:  # as if the first had begun: the step itself tells as much, for less
                self._micro_steps, self.micro_step = 1, UNMARKED
            self._step = self._step_starts[steps % _STEPS_AHEAD]()
        if is_busy and steps:
            session.report_if_due()

    def _attend(self, steps: int) -> None:
        """Do what is to be done before some of the steps begin."""
        session = self._session
        if self.phase is not OVER and not session.begin_step():
            self._stop()
        self._attention = session.next_busy_step()
        if self._is_marking and steps % _STEPS_AHEAD == 0:
            self._write_ahead(steps)

    def _turn(self, steps: int) -> None:
        """Do as the watch asks, but not inside a phase, whose beginning and end belong together."""
        if not self._is_marking and self.phase is QUIET:
            self._turn_on(steps)
        elif self._is_marking and self.phase is None:
            self._turn_off()

    def _turn_on(self, steps: int) -> None:
        self._is_marking = self._is_first_marked = self._has_micro_steps = True
        self.phase = None
        gc.callbacks.append(self.collect_garbage)
        self._write_ahead(steps)

    def _turn_off(self) -> None:
        if self._is_in_optimizer:  # its step raised
            self.pop()
        self._forget_marks()
        self.phase = QUIET

    def _write_ahead(self, steps: int) -> None:
        first = steps - steps % _STEPS_AHEAD
        self._step_starts = self._session.annotator.starters([f"step {first + more}" for more in range(_STEPS_AHEAD)])

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
        self._forget_marks()
        self._has_begun, self.phase, self.thread = True, OVER, _NOBODY

    def _forget_marks(self) -> None:
        self._is_marking = self._is_in_optimizer = self._is_saving = self._is_collecting = False
        self._step = self.micro_step = None
        if self.collect_garbage in gc.callbacks:
            gc.callbacks.remove(self.collect_garbage)


def never() -> bool:
    """Say no: what a torch without compiler answers."""
    return False


def _nothing(*_: object) -> None:
    """Stand for what has not been found yet."""
