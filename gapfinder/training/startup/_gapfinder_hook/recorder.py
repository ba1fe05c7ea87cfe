"""Turns what a training does into steps: tells where they begin and end, marks them, and tells a watch."""

from __future__ import annotations

from functools import partial
from time import monotonic_ns
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from .marks import STEPS_AHEAD, UNMARKED, Marks, harmless
from .rounds import OptimizerRound
from .step_stream import COUNT_WORD

if TYPE_CHECKING:
    from collections.abc import Callable

    from .session import Session
    from .step_stream import StepStream

_WRITING_NS = 50_000_000  # between two writings of step times
_EACH_WRITTEN = 8  # steps at the beginning, in which the place may become known


class Recorder(Marks):
    """The steps of one process, in the thread that trains.

    What happens in every step keeps the attributes by itself, in attach.py and optimizers.py: functions for that would
    cost more than the marks.

    Of a told step, `enter_…` returns whether the matching `leave_…` has something to end.

    Attributes:
        steps: how many have ended.
        place: what marks it.
        mark_mask: bits of a step's number; where one of them is set, the step does without the mark of the place.
        is_compiling: says whether torch compiles what calls it; None until a first graph is traced.
        attention: the step at whose beginning there is more to do than a mark.
        is_stepping: whether the optimizer `only`, the one there is, is stepping in a step that is usual so far.
        stream: of step times, for a watch; `times` and `words` are its own.
        write_at: the time from which a step that ends writes them, and looks at the switch.
        switch: the byte by which a watch asks for marks.
        is_timing: whether a backward pass is under way whose time a watch wants to know.
        apart_since: when this step would have begun without its backward passes; for a watch.
    """

    __slots__ = (
        "_has_begun",
        "_has_failed",
        "_is_in_told_step",
        "_is_told",
        "_round",
        "_session",
        "apart_since",
        "attention",
        "is_compiling",
        "is_grad_enabled",
        "is_stepping",
        "is_timing",
        "mark_mask",
        "only",
        "place",
        "steps",
        "stream",
        "switch",
        "times",
        "words",
        "write_at",
    )

    def __init__(self, session: Session, *, is_grad_enabled: Callable[[], bool]) -> None:
        super().__init__(session.annotator)
        self._session, self._round = session, OptimizerRound()
        self.is_grad_enabled = is_grad_enabled
        self.is_compiling: Callable[[], bool] | None = None
        self._has_begun = self._has_failed = self._is_told = self._is_in_told_step = False
        self.is_stepping = self.is_timing = False
        self.only: int | None = None
        self.place, self.mark_mask = session.place_mark, session.mark_spacing - 1
        self.steps = self.attention = self.apart_since = self.write_at = 0
        self.stream: StepStream | None = None
        self.times: Any = None
        self.words: Any = None
        self.switch: memoryview | None = None
        session.count_steps = lambda: self.steps

    @harmless
    def begin(self) -> bool:
        """Begin in this thread if training has not begun; return whether that is what happened, and it is marked."""
        if self._has_begun or self.is_over:
            return False
        self._has_begun = True
        if self._session.is_worker():
            self._stop()
            return False
        self._train_here()
        if self._session.is_watched:
            self.is_free = False
            self.apart_since = monotonic_ns()
            self.stream, self.switch = self._session.open_watch(self.apart_since)
            if self.stream is not None:
                self.times, self.words = self.stream.times, self.stream.words
        self._session.prepare()
        self._write_with(self._session.annotator)
        if not self._session.is_watched:
            self._turn_on(0)
        self._next_step(0)
        self._session.report()
        return self.is_marking

    def begin_here(self) -> bool:
        """Begin if training has not begun; return whether it is this thread that trains."""
        return self.begin() or self.is_here()

    @harmless
    def add_optimizer(self, optimizer: object) -> bool:
        """Note an optimizer, if it is new."""
        if self._round.knows(optimizer):
            return True
        self.is_usual = False
        self._count_lone_call()
        self._round.add(optimizer)
        self._session.note_optimizer()
        return True

    @harmless
    def enter_optimizer(self, optimizer: object) -> bool:
        """Begin a call that steps `optimizer`."""
        self._count_lone_call()
        self.is_usual = False
        if not self._round.enter(optimizer) or self.is_over or not (self._has_begun or self.begin()):
            return True
        if not self.has_pass:
            self._train_here()  # a loader may have begun in a thread of its own
        if self.is_marking:
            if self.has_pass and self.micro_step is not None:
                self.end_micro_step()
            self.push(self.optimizer, self.domain)
            self.is_in_optimizer = True
        return True

    @harmless
    def leave_optimizer(self, optimizer: object) -> bool:
        """End that call, and the training step if it was the last one of it."""
        is_complete = self.is_stepping
        if is_complete:
            self.is_stepping = False
        elif self._round.leave(optimizer):
            is_complete = self._round.is_complete
        else:
            return True
        self._leave_range()
        if not self.has_pass:  # nor does it count later
            self._round.begin()
        elif is_complete and not self._is_told:
            self._next_step(self.steps + 1)
        return True

    @harmless
    def abandon_optimizer(self, optimizer: object) -> bool:
        """End that call, which raised: no step is over."""
        if self.is_stepping or self._round.abandon(optimizer):
            self.is_stepping = False
            self._leave_range()
        return True

    def step_among(self, run: Callable[..., Any], optimizer: object, args: Any, kwargs: Any) -> Any:
        """Call `run` where it may be one of several calls or optimizers, or where there is more to do than a mark."""
        self.enter_optimizer(optimizer)
        try:
            result = run(optimizer, *args, **kwargs)
        except BaseException:
            self.abandon_optimizer(optimizer)
            raise
        self.leave_optimizer(optimizer)
        return result

    def __reduce__(self) -> tuple[type, tuple[()], dict[str, object]]:
        """Pickle as what marks nothing: with a class of a script's own, cloudpickle takes its step along by value."""
        return SimpleNamespace, (), {"is_compiling": partial(bool, 1)}

    @harmless
    def enter_told_step(self) -> bool:
        """Begin a step that the script tells: from now on steps end where it says so, and not with an optimizer."""
        self._is_told, self.is_usual = True, False
        if not self._has_begun:
            self.begin()
        if self._is_in_told_step or (not self.is_over and not self.is_here()):
            return False
        self._is_in_told_step = True
        return True

    @harmless
    def leave_told_step(self, *, is_complete: bool) -> bool:
        """End that step, or leave it, since it raised: then it is not over."""
        self._is_in_told_step = False
        if is_complete:
            self._next_step(self.steps + 1)
        return True

    def fail(self, error: Exception) -> bool:
        """Mark nothing any more, and say why; return that no range was opened. A watch still sees the steps."""
        if self.stream is None or self._has_failed:
            self._stop()
        else:
            self._forget_marks()
            self._has_failed, self.switch = True, None
        self._session.complain(error)
        return False

    def after_fork(self) -> None:
        """Mark nothing in a forked child: the open ranges are its parent's."""
        self._stop()
        self._has_begun = True
        self.stream = self.times = self.words = self.switch = None
        self.steps = self.attention = 0
        self._session.after_fork()
        self._round, self.is_stepping = OptimizerRound(), False

    def _count_lone_call(self) -> None:
        """Have the round know of the call under way of what was alone: now it is not."""
        if self.is_stepping:
            self.is_stepping = False
            self._round.open.append(self.only or 0)

    def _leave_range(self) -> None:
        if self.is_in_optimizer:
            self.is_in_optimizer = False
            self.pop(self.domain)

    def _next_step(self, steps: int) -> None:
        """End the step under way, if there is one, and begin the next, before which `steps` have ended."""
        self._round.begin()
        session = self._session
        self.steps = steps
        self.has_pass = self.is_over
        if self.stream is not None and steps:
            now = monotonic_ns()
            self.stream.times += (now, self.apart_since)
            self.stream.words[COUNT_WORD] = steps
            self.stream.write()
            self.apart_since = now
            self.write_at = now + _WRITING_NS if steps >= _EACH_WRITTEN else 0
        if self.step is not None:
            if self.micro_step is not None:
                self.end_micro_step()
            if self._is_first_marked:
                self._is_first_marked = False
                self._has_micro_steps = self._micro_steps > 1
            self.end(self.step)
        if self.switch is not None and (self.switch[0] == 1) is not self.is_marking:
            self._turn(steps)
        is_busy = steps >= self.attention
        if is_busy:
            self._attend(steps)
        if self.is_marking:
            self.mark(self.place, self.domain)
            if self._has_micro_steps:
                self._micro_steps = 0
            else:  # as if the first had begun: the step itself tells as much, for less
                self._micro_steps, self.micro_step = 1, UNMARKED
            self.step = self.start(self.steps_ahead[steps % STEPS_AHEAD], self.domain)
        self._look_whether_usual()
        if is_busy and steps:
            session.report_if_due()

    def _look_whether_usual(self) -> None:
        """Say whether optimizers.py may begin and end the step by itself: for one optimizer, and one thing to do."""
        self.only = self._round.only
        if self.stream is not None:
            does_one_thing = not self.is_marking
        else:
            does_one_thing = self.is_over or (self.switch is None and self.is_marking and not self._has_micro_steps)
        self.is_usual = does_one_thing and self.only is not None and not self._is_told

    def _attend(self, steps: int) -> None:
        """Do what is to be done before some of the steps begin."""
        session = self._session
        if not self.is_over and not session.begin_step():
            self._leave_backward()
            self._stop()
        self.attention = session.next_busy_step()
        self.place = session.place_mark
        if self.is_marking and steps % STEPS_AHEAD == 0:
            self._write_ahead(steps)

    def _turn(self, steps: int) -> None:
        """Do as the watch asks, but not inside a phase, whose beginning and end belong together."""
        if not self.is_marking and not self.is_over:
            self._turn_on(steps)
        elif self.is_free or self.is_in_backward:
            self._leave_backward()
            self._forget_marks()

    def _leave_backward(self) -> None:
        """End the range of a pass in which an optimizer stepped, since nothing does so when marks have ended."""
        if self.is_in_backward and self.is_marking:
            self.pop(self.domain)
