"""Writes the ranges of one process: its steps, its micro-steps, and what interrupts them."""

from __future__ import annotations

import functools
import gc
from _thread import RLock  # not of threading, where lock profilers put their own
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from .synchronising import Synchronising

if TYPE_CHECKING:
    from .annotators import Annotator

FORWARD, BACKWARD, OPTIMIZER = "forward", "backward", "optimizer"
DATA_LOADING, CHECKPOINT, GARBAGE_COLLECTION = "data loading", "checkpoint", "garbage collection"
UNMARKED = True  # a micro-step without a range; a constant is at hand in every function
STEPS_AHEAD = 32

_Method = TypeVar("_Method", bound=Callable[..., bool])


def harmless(method: _Method) -> _Method:
    """Make an error in `method` end the marking instead of the training.

    What runs in every step has the same written out: a function around it would cost more than the mark.
    """

    @functools.wraps(method)
    def call(self: Marks, *args: Any, **kwargs: Any) -> bool:
        try:
            return method(self, *args, **kwargs)
        except Exception as error:  # noqa: BLE001 - a training never fails because of its profiler
            return self.fail(error)

    return call  # type: ignore[return-value]


class Marks:
    """The ranges that are open, and what writes the next.

    Of a checkpoint, `enter_…` returns whether the matching `leave_…` has something to end. Slots, since what lies side
    by side is in the cache together.

    Attributes:
        is_free: whether a phase may begin, because none is under way: no forward, backward or data loading.
        is_here: says whether the thread that calls it is the one that trains.
        is_in_backward: whether a backward pass is under way.
        is_over: whether nothing is marked any more; steps are only counted.
        has_pass: whether there has been a pass in this step; when all is over, nobody looks, and each step counts.
        step, micro_step: what ends the range under way; None where there is none. A micro-step may be UNMARKED: under
            way without a range.
        steps_ahead: what starts the ranges of the steps to come, each at its number's remainder.
        is_marking: whether ranges are written, which is not so before training, while it is quiet and when it is over.
        is_in_optimizer: whether an optimizer's range is open.
        is_usual: whether this step may be begun and ended by optimizers.py, without a function of the recorder.
        push, pop, start, end, mark, domain: the annotator's.
        forward, backward, data_loading, optimizer: what pushes the range of a phase.
    """

    __slots__ = (
        "_annotator",
        "_checkpoint",
        "_collection",
        "_has_micro_steps",
        "_is_collecting",
        "_is_first_marked",
        "_is_saving",
        "_micro_steps",
        "_synchronising",
        "backward",
        "data_loading",
        "domain",
        "end",
        "forward",
        "has_pass",
        "is_free",
        "is_here",
        "is_in_backward",
        "is_in_optimizer",
        "is_marking",
        "is_over",
        "is_usual",
        "mark",
        "micro_step",
        "optimizer",
        "pop",
        "push",
        "start",
        "step",
        "steps_ahead",
    )

    def __init__(self, annotator: Annotator) -> None:
        self.is_here: Callable[[], bool] = bool  # nobody trains
        self.is_free = True
        self.has_pass = self.is_in_backward = self.is_marking = self.is_over = self.is_usual = False
        self.is_in_optimizer = self._is_saving = self._is_collecting = self._is_first_marked = False
        self._synchronising = Synchronising()
        self.steps_ahead: list[Any] = []
        self.step: Any = None
        self.micro_step: Any = None
        self._micro_steps = 0  # passes that gave gradients, or will, in this step
        self._has_micro_steps = True  # whether they are marked: not where the first step has one, until one has more
        self._write_with(annotator)

    def fail(self, error: Exception) -> bool:
        """Mark nothing any more, and say why; return that no range was opened."""
        raise NotImplementedError

    def start_micro_step(self, model: object) -> None:
        """Begin a micro-step with a pass of `model`, if that is known."""
        number = self._micro_steps
        self._micro_steps = number + 1
        self._has_micro_steps, self.is_usual = True, False
        is_synchronising = model is not None and self._synchronising.tells(model)
        text = f"micro-step {number}{' sync' if is_synchronising else ''}"
        self.micro_step = self.start(self._annotator.prepare(text), self.domain)

    def end_micro_step(self) -> None:
        """End the micro-step under way, if there is one."""
        token = self.micro_step
        self.micro_step = None
        if token is not None and token is not UNMARKED:
            self.end(token)

    @harmless
    def enter_checkpoint(self) -> bool:
        """Begin to save; before training there is nothing that waits for it."""
        if self._is_saving or not self.is_marking or not self.is_here():
            return False
        self.push(self._checkpoint, self.domain)
        self._is_saving = True
        return True

    @harmless
    def leave_checkpoint(self) -> bool:
        """End to save."""
        if self._is_saving:
            self._is_saving = False
            self.pop(self.domain)
        return True

    def collect_garbage(self, moment: str, info: dict[str, int]) -> bool:
        """Mark a collection of more than the youngest objects; gc calls this when one starts and stops."""
        return info["generation"] > 0 and self._mark_collection(moment)

    def _write_with(self, annotator: Annotator) -> None:
        """Have at hand what writes."""
        self._annotator, self.domain = annotator, annotator.domain
        self.push, self.pop, self.mark = annotator.push, annotator.pop, annotator.mark
        self.start, self.end = annotator.start, annotator.end
        self.forward, self.backward = annotator.prepare(FORWARD), annotator.prepare(BACKWARD)
        self.data_loading, self.optimizer = annotator.prepare(DATA_LOADING), annotator.prepare(OPTIMIZER)
        self._checkpoint, self._collection = annotator.prepare(CHECKPOINT), annotator.prepare(GARBAGE_COLLECTION)

    def _train_here(self) -> None:
        """Have this thread be the one that trains: it holds a lock, and only its owner is told so."""
        lock = RLock()
        lock.acquire()
        self.is_here = lock._is_owned  # type: ignore[attr-defined]  # noqa: SLF001 - comparing idents takes longer

    def _turn_on(self, steps: int) -> None:
        """Mark from the step on that is about to begin, which `steps` came before."""
        self.is_marking = self.is_free = self._is_first_marked = self._has_micro_steps = True
        gc.callbacks.append(self.collect_garbage)
        self._write_ahead(steps)

    def _stop(self) -> None:
        """Mark nothing any more; only count steps."""
        self._forget_marks()
        self.is_over = self.has_pass = True
        self.is_here = bool

    def _forget_marks(self) -> None:
        self.is_marking = self.is_free = self.is_usual = self.is_in_optimizer = self._is_saving = (
            self._is_collecting
        ) = False
        self.step = self.micro_step = None
        if self.collect_garbage in gc.callbacks:
            gc.callbacks.remove(self.collect_garbage)

    def _write_ahead(self, steps: int) -> None:
        first = steps - steps % STEPS_AHEAD
        self.steps_ahead = self._annotator.prepare_ahead([f"step {first + more}" for more in range(STEPS_AHEAD)])

    @harmless
    def _mark_collection(self, moment: str) -> bool:
        if moment == "start":
            self.push(self._collection, self.domain)
            self._is_collecting = True
        elif self._is_collecting:
            self._is_collecting = False
            self.pop(self.domain)
        return True
