"""Puts the recorder behind the functions of torch that a training calls."""

from __future__ import annotations

import functools
import os
import sys
from time import monotonic_ns
from types import CodeType, FunctionType
from typing import TYPE_CHECKING, Any, Callable

from . import annotators, optimizers, session, status, window
from .marks import UNMARKED
from .recorder import Recorder

if TYPE_CHECKING:
    from types import ModuleType

_Function = Callable[..., Any]

_recorders: list[Recorder] = []  # of this process: one, once torch has been imported


def attach(torch: ModuleType) -> None:
    """Mark what happens in `torch` from now on; whatever torch lacks is said on stderr, and nothing is marked."""
    if _recorders:
        return
    environment = os.environ
    own = session.Session(
        torch,
        find_annotator=lambda: annotators.find_annotator(torch),
        window=window.Window.parse(environment.get("GAPFINDER_HOOK_WINDOW", "")),
        status=status.StatusFile(environment["GAPFINDER_HOOK_STATUS"]),
        watch_folder=environment.get("GAPFINDER_HOOK_WATCH", ""),
    )
    one = Recorder(own, is_grad_enabled=getattr(torch, "is_grad_enabled", _never))
    _recorders.append(one)
    try:
        optimizers.attach_optimizers(torch, one)
        _attach_passes(torch, one, is_watched=own.is_watched)
        _attach_loaders(torch, one)
        vars(torch)["save"] = vars(torch.serialization)["save"] = _saving(torch.save, one)
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
            setattr(saver, name, _saving(getattr(saver, name), one))


# What is below runs in every step, as does what is in optimizers.py, and each Python function that it called would cost
# more than the range it writes. So it keeps attributes by itself, calls functions of the recorder only for what happens
# seldom, and finds what it needs in the recorder, which is in the cache by then, rather than among a module's names.


def _forward(call: _Function, one: Recorder) -> _Function:
    is_short = call.__code__.co_names == ("_compiled_call_impl", "_call_impl")

    @functools.wraps(call)
    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        # where short, what `call` does: a module inside another costs no function more
        run = (self._compiled_call_impl or self._call_impl) if is_short else call.__get__(self)
        if not one.is_free or not one.is_grad_enabled() or (not one.is_here() and not one.begin()):
            return run(*args, **kwargs)
        try:
            if one.micro_step is None:
                one.start_micro_step(self)
            one.has_pass = True
            one.is_free = False
            one.push(one.forward, one.domain)
        except Exception as error:  # noqa: BLE001 - a training never fails because of its profiler
            one.fail(error)
        try:
            return run(*args, **kwargs)
        finally:
            if one.is_marking:
                one.is_free = True
                try:
                    one.pop(one.domain)
                except Exception as error:  # noqa: BLE001 - as above
                    one.fail(error)

    return forward


def _backward(run: _Function, one: Recorder) -> _Function:
    @functools.wraps(run)
    def backward(*args: Any, **kwargs: Any) -> Any:
        if one.is_over or (not one.is_here() and not one.begin()) or one.is_in_backward or not one.is_marking:
            return run(*args, **kwargs)
        is_outermost = is_pass = one.is_free  # a forward pass may be under way, whose loss needs gradients
        try:
            # args: outputs, gradients, retain_graph, create_graph; gradients to differentiate again are part of a loss
            if args[3] and not kwargs.get("accumulate_grad", True):
                is_pass = False
            if one.micro_step is None and is_outermost:
                one.start_micro_step(None)
            one.has_pass = one.is_in_backward = True
            one.is_free = False
            one.push(one.backward, one.domain)
        except Exception as error:  # noqa: BLE001 - a training never fails because of its profiler
            one.fail(error)
        try:
            return run(*args, **kwargs)
        finally:
            one.is_in_backward = False
            if one.is_marking:
                one.is_free = is_outermost
                try:
                    one.pop(one.domain)
                    if is_pass and one.micro_step is not UNMARKED:
                        one.end_micro_step()
                    elif is_pass and one.has_pass:  # else an optimizer in it has ended the step
                        one.micro_step = None
                except Exception as error:  # noqa: BLE001 - as above
                    one.fail(error)

    return backward


def _timed(run: _Function, marked: _Function, one: Recorder) -> _Function:
    """Return what keeps the time of backward passes for a watch, and marks them while it wants marks."""

    @functools.wraps(run)
    def timed(*args: Any, **kwargs: Any) -> Any:
        if one.is_timing or (not one.is_here() and not one.begin_here()):
            return run(*args, **kwargs)
        one.is_timing = one.has_pass = True
        begin = monotonic_ns()
        try:
            return (marked if one.is_marking else run)(*args, **kwargs)
        finally:
            one.apart_since += monotonic_ns() - begin
            one.is_timing = False

    return timed


def _loading(run: _Function, one: Recorder) -> _Function:
    @functools.wraps(run)
    def loading(self: Any) -> Any:
        # a training does not begin with a loader that runs without gradients
        if not one.is_free or (not one.is_here() and not (one.is_grad_enabled() and one.begin())):
            return run(self)
        try:
            one.is_free = False
            one.push(one.data_loading, one.domain)
        except Exception as error:  # noqa: BLE001 - a training never fails because of its profiler
            one.fail(error)
        try:
            return run(self)
        finally:
            if one.is_marking:
                one.is_free = True
                try:
                    one.pop(one.domain)
                except Exception as error:  # noqa: BLE001 - as above
                    one.fail(error)

    return loading


def _attach_passes(torch: ModuleType, one: Recorder, *, is_watched: bool) -> None:
    module = torch.nn.Module
    module.__call__ = call = _forward(module.__call__, one)
    call.__qualname__ = f"{module.__name__}.__call__"  # by which it pickles; torch's own name is still torch's function
    # Not torch.autograd.backward and grad themselves, which TorchScript knows by identity; both end in this one.
    autograd: Any = torch.autograd
    run = autograd._engine_run_backward  # noqa: SLF001
    marked = _backward(run, one)
    autograd._engine_run_backward = _timed(run, marked, one) if is_watched else marked  # noqa: SLF001


def _attach_loaders(torch: ModuleType, one: Recorder) -> None:
    loaders = torch.utils.data.dataloader
    iterator, loader = loaders._BaseDataLoaderIter, loaders.DataLoader  # noqa: SLF001
    iterator.__next__ = _loading(iterator.__next__, one)
    loader.__iter__ = _loading(loader.__iter__, one)  # it starts the workers


def _saving(function: _Function, one: Recorder) -> _Function:
    @functools.wraps(function)
    def saving(*args: Any, **kwargs: Any) -> Any:
        if not one.enter_checkpoint():
            return function(*args, **kwargs)
        try:
            return function(*args, **kwargs)
        finally:
            one.leave_checkpoint()

    return saving


def _never() -> bool:
    return False  # a torch that knows no gradients has none


def hide_from_compiler(eval_frame: ModuleType) -> None:
    """Keep torch.compile from compiling the hook's frames, so that it compiles the same as without the hook."""
    for module in [one for name, one in sys.modules.items() if name.startswith(f"{__package__}.")]:
        for value in vars(module).values():
            members = vars(value).values() if isinstance(value, type) else (value,)
            for member in members:
                for code in _codes(member, getattr(member, "__wrapped__", None), getattr(member, "fget", None)):
                    eval_frame.skip_code(code)


def heed_compiler(output_graph: ModuleType) -> None:
    """Have recorders ask whether torch compiles from the first graph on that it traces: each asking costs them.

    Whatever compiles or exports makes one, and only what is traced is asked.
    """
    torch = sys.modules["torch"]
    graph = getattr(output_graph, "OutputGraph", None)
    if graph is None:  # an unknown torch
        _ask_compiler(torch)
        return
    build = graph.__init__

    @functools.wraps(build)
    def built(self: Any, *args: Any, **kwargs: Any) -> None:
        _ask_compiler(torch)
        build(self, *args, **kwargs)

    graph.__init__ = built


def _ask_compiler(torch: ModuleType) -> None:
    compiler = getattr(torch, "compiler", None)
    # the narrow question costs half as much as torch.compiler.is_compiling, which also tells of torch.export
    is_compiling = getattr(compiler, "is_dynamo_compiling", None) or getattr(compiler, "is_compiling", None)
    for one in _recorders:
        one.is_compiling = is_compiling


def _codes(*functions: object) -> list[CodeType]:
    """Return the code of those that are functions, and of the functions inside them."""
    found = [one.__code__ for one in functions if isinstance(one, FunctionType)]
    for code in found:
        found.extend(constant for constant in code.co_consts if isinstance(constant, CodeType))
    return found
