"""Puts the recorder behind the functions of torch that a training calls."""

from __future__ import annotations

import functools
import os
import sys
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Callable

from . import annotators, place, recorder, rounds, session, status, synchronising, window
from .recorder import BACKWARD, OVER, Recorder
from .rounds import SCALER, STEP

if TYPE_CHECKING:
    from types import ModuleType

_Function = Callable[..., Any]
_OWN_MODULES = (annotators, place, recorder, rounds, session, status, synchronising, window)

_recorders: list[Recorder] = []  # of this process: one, once torch has been imported


def attach(torch: ModuleType) -> None:
    """Mark what happens in `torch` from now on; whatever torch lacks is said on stderr, and nothing is marked."""
    if _recorders:
        return
    environment = os.environ
    one = Recorder(
        session.Session(
            torch,
            find_annotator=lambda: annotators.find_annotator(torch),
            window=window.Window.parse(environment.get("GAPFINDER_HOOK_WINDOW", "")),
            status=status.StatusFile(environment["GAPFINDER_HOOK_STATUS"]),
        )
    )
    _recorders.append(one)
    try:
        _attach_optimizers(torch, one)
        _attach_passes(torch, one)
        _attach_loaders(torch, one)
        save = _marked(torch.save, one.enter_checkpoint, one.leave_checkpoint)
        vars(torch)["save"] = vars(torch.serialization)["save"] = save
        os.register_at_fork(after_in_child=one.after_fork)
    except Exception as error:  # noqa: BLE001 - a training never fails because of its profiler
        one.fail(error)


def recorder_here() -> Recorder | None:
    """Return what marks this process's training; None where the hook is not at work."""
    return _recorders[0] if _recorders else None


def attach_save(saver: ModuleType) -> None:
    """Mark what torch.distributed.checkpoint saves."""
    for one in _recorders:
        for name in ("save", "async_save"):
            setattr(saver, name, _marked(getattr(saver, name), one.enter_checkpoint, one.leave_checkpoint))


def _attach_optimizers(torch: ModuleType, one: Recorder) -> None:
    is_compiling = torch.compiler.is_compiling
    optimizer_module = sys.modules["torch.optim.optimizer"]  # torch.optim deletes its own name for it

    def before(optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if not is_compiling():
            one.enter_optimizer(optimizer, caller=STEP)

    def after(optimizer: Any, _args: Any, _kwargs: Any) -> None:
        if not is_compiling():
            one.leave_optimizer(optimizer, caller=STEP)

    optimizer_module.register_optimizer_step_pre_hook(before)
    optimizer_module.register_optimizer_step_post_hook(after)
    build = optimizer_module.Optimizer.__init__

    @functools.wraps(build)
    def built(self: Any, *args: Any, **kwargs: Any) -> None:
        build(self, *args, **kwargs)
        one.add_optimizer(self)

    optimizer_module.Optimizer.__init__ = built
    scaler = torch.amp.GradScaler
    scaled = scaler.step

    @functools.wraps(scaled)
    def step(self: Any, optimizer: Any, *args: Any, **kwargs: Any) -> Any:
        # the scaler leaves out the optimizer's step after an overflow, and that ends a training step all the same
        one.enter_optimizer(optimizer, caller=SCALER)
        try:
            return scaled(self, optimizer, *args, **kwargs)
        finally:
            one.leave_optimizer(optimizer, caller=SCALER)

    scaler.step = step


def _attach_passes(torch: ModuleType, one: Recorder) -> None:
    is_grad_enabled = torch.is_grad_enabled
    call = torch.nn.Module.__call__
    is_short = call.__code__.co_names == ("_compiled_call_impl", "_call_impl")

    @functools.wraps(call)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        if one.phase is None and is_grad_enabled() and one.enter_forward(self):
            try:
                return call(self, *args, **kwargs)
            finally:
                one.leave()
        if is_short:  # what `call` does: a module inside another costs no function more
            return (self._compiled_call_impl or self._call_impl)(*args, **kwargs)
        return call(self, *args, **kwargs)

    torch.nn.Module.__call__ = forward
    # Not torch.autograd.backward and grad themselves, which TorchScript knows by identity; both end in this one.
    run = torch.autograd._engine_run_backward  # noqa: SLF001

    @functools.wraps(run)
    def backward(*args: Any, **kwargs: Any) -> Any:
        around = one.phase
        if around is BACKWARD or around is OVER or not one.enter_backward():
            return run(*args, **kwargs)
        # args: outputs, gradients, retain_graph, create_graph; gradients to differentiate again are part of a loss
        is_pass = kwargs.get("accumulate_grad", True) or not args[3]
        try:
            return run(*args, **kwargs)
        finally:
            one.leave(back_to=around, is_pass=is_pass)

    torch.autograd._engine_run_backward = backward  # noqa: SLF001


def _attach_loaders(torch: ModuleType, one: Recorder) -> None:
    loaders = torch.utils.data.dataloader
    iterator, loader = loaders._BaseDataLoaderIter, loaders.DataLoader  # noqa: SLF001
    iterator.__next__ = _marked(iterator.__next__, one.enter_data_loading, one.leave)
    loader.__iter__ = _marked(loader.__iter__, one.enter_data_loading, one.leave)  # it starts the workers


def _marked(function: _Function, enter: Callable[[], bool], leave: Callable[[], bool]) -> _Function:
    @functools.wraps(function)
    def marked(*args: Any, **kwargs: Any) -> Any:
        if not enter():
            return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        finally:
            leave()

    return marked


def hide_from_compiler(eval_frame: ModuleType) -> None:
    """Keep torch.compile from compiling the hook's frames, so that it compiles the same as without the hook."""
    for module in (*_OWN_MODULES, sys.modules[__name__]):
        for value in vars(module).values():
            members = vars(value).values() if isinstance(value, type) else (value,)
            for member in members:
                for code in _codes(member, getattr(member, "__wrapped__", None), getattr(member, "fget", None)):
                    eval_frame.skip_code(code)


def _codes(*functions: object) -> list[CodeType]:
    """Return the code of those that are functions, and of the functions inside them."""
    found = [one.__code__ for one in functions if isinstance(one, FunctionType)]
    for code in found:
        found.extend(constant for constant in code.co_consts if isinstance(constant, CodeType))
    return found
