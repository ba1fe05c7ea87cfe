"""Puts the recorder around the steps of optimizers, which end the steps of a training."""

from __future__ import annotations

import functools
import sys
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, Callable

from .marks import STEPS_AHEAD, UNMARKED
from .step_stream import COUNT_WORD

if TYPE_CHECKING:
    from types import ModuleType

    from .recorder import Recorder

_Function = Callable[..., Any]


def attach_optimizers(torch: ModuleType, one: Recorder) -> None:
    """Have `one` know every optimizer, and mark its steps and those of GradScaler, which may leave them out."""
    base = sys.modules["torch.optim.optimizer"].Optimizer  # torch.optim deletes its own name for the module
    base.__init__ = _known(base.__init__, one)
    base.__setstate__ = _known(base.__setstate__, one)  # of one that was copied or pickled
    # Torch puts this around the step of each class. Its own two hooks would cost one function more, and do not tell of
    # a step that raised.
    around = base.profile_hook_step

    @functools.wraps(around)
    def profile_hook_step(step: _Function) -> Any:
        marked: Any = _step(around(step), one)
        marked.__wrapped__ = _step(step, one)  # what an older torch.compile puts back
        return marked

    base.profile_hook_step = staticmethod(profile_hook_step)
    scaler = torch.amp.GradScaler
    scaler.step = _scaled_step(scaler.step, one)


def _known(build: _Function, one: Recorder) -> _Function:
    """Return what makes an optimizer, and `one` know it."""

    @functools.wraps(build)
    def built(self: Any, *args: Any, **kwargs: Any) -> None:
        build(self, *args, **kwargs)
        kind = type(self)
        if not hasattr(kind.step, "marks_optimizer"):  # an older torch.compile has each class left as it is
            kind.step = _step(kind.step, one)
        one.add_optimizer(self)

    return built


def _step(run: _Function, one: Recorder) -> _Function:  # noqa: C901 - parts of it would cost more than the marks
    """Return `run` with marks; like those of attach.py, which says why, it does by itself what every step needs."""

    @functools.wraps(run)
    def step(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: C901 - as above
        # the compiler reads this, and must find nothing to compile
        if one.is_compiling is not None and one.is_compiling():
            return run(self, *args, **kwargs)
        if not one.is_usual or not one.has_pass or one.is_stepping:
            return one.step_among(run, self, args, kwargs)
        one.is_stepping = True
        try:
            if one.is_marking:
                one.push(one.optimizer, one.domain)
                one.is_in_optimizer = True
        except Exception as error:  # noqa: BLE001 - a training never fails because of its profiler
            one.fail(error)
        try:
            result = run(self, *args, **kwargs) if args or kwargs else run(self)  # the second takes less
        except BaseException:
            one.abandon_optimizer(self)
            raise
        steps = one.steps + 1
        times = one.times
        now = 0 if times is None else monotonic_ns()
        try:
            if not one.is_usual or (steps >= one.attention if times is None else now >= one.write_at):
                one.leave_optimizer(self)
                return result
            one.is_stepping = one.is_in_optimizer = False
            one.has_pass = one.is_over
            one.steps = steps
            if one.is_marking:
                one.pop(one.domain)
                one.end(one.step)
                if not steps & one.mark_mask:
                    one.mark(one.place, one.domain)
                one.micro_step = UNMARKED
                one.step = one.start(one.steps_ahead[steps % STEPS_AHEAD], one.domain)
            elif times is not None:
                times.append(now)
                times.append(one.apart_since)
                one.apart_since = now
                one.words[COUNT_WORD] = steps
        except Exception as error:  # noqa: BLE001 - as above
            one.fail(error)
        return result

    vars(step)["marks_optimizer"] = True
    return step


def _scaled_step(run: _Function, one: Recorder) -> _Function:
    @functools.wraps(run)
    def step(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        # the scaler leaves out the optimizer's step after an overflow, and that ends a training step all the same
        if one.is_compiling is not None and one.is_compiling():
            return run(self, optimizer, *args, **kwargs)
        return one.step_among(functools.partial(run, self), optimizer, args, kwargs)

    return step
