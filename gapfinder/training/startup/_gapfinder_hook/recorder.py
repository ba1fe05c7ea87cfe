"""Turns what a training does into steps: tells where they begin and end, marks them, and tells a watch."""

from __future__ import annotations

from threading import get_ident
from time import monotonic_ns
from typing import TYPE_CHECKING

from .marks import STEPS_AHEAD, UNMARKED, Marks, harmless
from .rounds import STEP, OptimizerRound
from .step_stream import COUNT_WORD, ENTRIES, FIRST_WORD

if TYPE_CHECKING:
    from collections.abc import Callable

    from .session import Session


class Recorder(Marks):
    """The steps of one process, in the thread that trains.

    Forward passes, backward passes and data loading keep attributes by themselves, in attach.py, and the hooks of an
    optimizer look after one that is alone: functions for that would cost more than the marks.

    Of a told step, `enter_…` returns whether the matching `leave_…` has something to end.

    Attributes:
        is_timing: whether a backward pass is under way whose time a watch wants to know.
        apart_since: when this step would have begun without its backward passes; for a watch.
    """

    __slots__ = (
        "_alone",
        "_attention",
        "_has_begun",
        "_has_failed",
        "_is_compiling",
        "_is_in_told_step",
        "_is_told",
        "_mark_place",
        "_round",
        "_session",
        "_switch",
        "_words",
        "apart_since",
        "get_ident",
        "is_grad_enabled",
        "is_timing",
    )

    def __init__(
        self, session: Session, *, is_compiling: Callable[[], bool], is_grad_enabled: Callable[[], bool]
    ) -> None:
        super().__init__(session.annotator)
        self._session, self._is_compiling = session, is_compiling
        self.is_grad_enabled, self.get_ident = is_grad_enabled, get_ident
        self._round = OptimizerRound()
        self._has_begun = self._has_failed = self._is_told = self._is_in_told_step = False
        self._alone: tuple[int, str] | None = None  # the step under way of an optimizer that is the only one
        self._mark_place = session.mark
        self._attention = 0  # the step at whose beginning there is more to do than a mark
        self._words: memoryview | None = None  # of the step stream
        self._switch: memoryview | None = None  # the byte by which a watch asks for marks
        self.is_timing = False
        self.apart_since = 0

    @harmless
    def begin(self) -> bool:
        """Begin in this thread if training has not begun; return whether that is what happened, and it is marked."""
        if self._has_begun or self.is_over:
            return False
        self._has_begun = True
        if self._session.is_worker():
            self._stop()
            return False
        self.thread = get_ident()
        if self._session.is_watched:
            self.is_free = False
            self.apart_since = monotonic_ns()
            self._words, self._switch = self._session.open_watch(self.apart_since)
        self._session.prepare()
        self._write_with(self._session.annotator)
        if not self._session.is_watched:
            self._turn_on(0)
        self._next_step(0)
        self._session.report()
        return self.is_marking

    def begin_here(self) -> bool:
        """Begin if training has not begun; return whether it is this thread that trains."""
        return self.begin() or get_ident() == self.thread

    @harmless
    def add_optimizer(self, optimizer: object) -> bool:
        """Note a new optimizer."""
        self._round.add(optimizer)
        self._session.note_optimizer()
        return True

    def enter_optimizer(
        self, optimizer: object, _args: object = (), _kwargs: object = None, caller: str = STEP
    ) -> None:
        """Begin an optimizer's step: a hook of torch, which also gives the step's arguments.

        Args:
            optimizer: whose step it is.
            caller: tells calls of the same optimizer inside each other apart.
        """
        if self._is_compiling():  # the compiler reads this, and must find nothing to compile
            return
        try:
            optimizers = self._round
            if id(optimizer) == optimizers.only and self._alone is None and not optimizers.open and caller is STEP:
                self._alone = optimizers.only_call
            elif not self._enter_among(optimizer, caller):
                return
            if self.is_over or not (self._has_begun or self.begin()):
                return
            if not self.has_pass:
                self.thread = self.get_ident()  # a loader may have begun in a thread of its own
            if not self.is_marking:
                return
            if self._is_in_optimizer:  # the step before raised
                self.pop()
            if self.has_pass and self.micro_step is not None:
                self.end_micro_step()
            self._push_optimizer()
            self._is_in_optimizer = True
        except Exception as error:  # noqa: BLE001 - as in harmless
            self.fail(error)

    def leave_optimizer(
        self, optimizer: object, _args: object = (), _kwargs: object = None, caller: str = STEP
    ) -> None:
        """End an optimizer's step, and the training step if it was the last one of it; a hook of torch as well."""
        if self._alone is None and self._is_compiling():
            return
        try:
            is_complete = self._alone is not None
            if is_complete:
                self._alone = None
            elif self._round.leave(optimizer, caller):
                is_complete = self._round.is_complete
            else:
                return
            if self._is_in_optimizer:
                self._is_in_optimizer = False
                self.pop()
            if not is_complete or self._is_told or not (self.has_pass or self.is_over):
                return
            steps = self._session.steps + 1
            if self._is_plain and steps < self._attention:  # as _next_step does it, without a function more
                self._session.steps, self.has_pass = steps, False
                self._end(self._step)
                self._mark_place()
                self._micro_steps, self.micro_step = 1, UNMARKED
                self._step = self._step_starts[steps % STEPS_AHEAD]()
            else:
                self._next_step(steps)
        except Exception as error:  # noqa: BLE001 - as in harmless
            self.fail(error)

    @harmless
    def enter_told_step(self) -> bool:
        """Begin a step that the script tells: from now on steps end where it says so, and not with an optimizer."""
        self._is_told = True
        if not self._has_begun:
            self.begin()
        if self._is_in_told_step or (not self.is_over and get_ident() != self.thread):
            return False
        self._is_in_told_step = True
        return True

    @harmless
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
            self._has_failed, self._switch = True, None
        self._session.complain(error)
        return False

    def after_fork(self) -> None:
        """Mark nothing in a forked child: the open ranges are its parent's."""
        self._stop()
        self._has_begun = True
        self._words = self._switch = None
        self._attention = 0
        self._session.after_fork()
        self._round, self._alone = OptimizerRound(), None

    def _enter_among(self, optimizer: object, caller: str) -> bool:
        """Note the call of an optimizer among calls or optimizers."""
        if self._alone is not None:
            self._round.open.append(self._alone)
            self._alone = None
        return self._round.enter(optimizer, caller)

    def _next_step(self, steps: int) -> None:
        """End the step under way, if there is one, and begin the next, before which `steps` have ended."""
        self._round.begin()
        self._is_plain = False
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
        if self._switch is not None and (self._switch[0] == 1) is not self.is_marking:
            self._turn(steps)
        is_busy = steps >= self._attention
        if is_busy:
            self._attend(steps)
        if self.is_marking:
            self._mark_place()
            if self._has_micro_steps:
                self._micro_steps = 0
            else:  # as if the first had begun: the step itself tells as much, for less
                self._micro_steps, self.micro_step = 1, UNMARKED
                self._is_plain = words is None and self._switch is None
            self._step = self._step_starts[steps % STEPS_AHEAD]()
        if is_busy and steps:
            session.report_if_due()

    def _attend(self, steps: int) -> None:
        """Do what is to be done before some of the steps begin."""
        session = self._session
        if not self.is_over and not session.begin_step():
            self._stop()
        self._attention = session.next_busy_step()
        self._mark_place = session.mark
        if self.is_marking and steps % STEPS_AHEAD == 0:
            self._write_ahead(steps)

    def _turn(self, steps: int) -> None:
        """Do as the watch asks, but not inside a phase, whose beginning and end belong together."""
        if not self.is_marking and not self.is_over:
            self._turn_on(steps)
        elif self.is_free:
            self._turn_off()


def never() -> bool:
    """Say no: what a torch without compiler answers."""
    return False
