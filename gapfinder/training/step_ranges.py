"""Marks a training's steps as NVTX ranges from the script itself; under `gapfinder run`, through its hook."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from gapfinder.training.startup._gapfinder_hook.annotators import Silence, UnavailableError, find_annotator
from gapfinder.training.startup._gapfinder_hook.place import find_place, has_process_group

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.training.startup._gapfinder_hook.annotators import Annotator
    from gapfinder.training.startup._gapfinder_hook.place import Place
    from gapfinder.training.startup._gapfinder_hook.recorder import Recorder


class _Own:
    """What this process marks by itself.

    Attributes:
        is_open: a step is under way, and what begins inside is a part of it.
    """

    def __init__(self) -> None:
        self.annotator = _annotator()
        self.is_open = False
        self.steps = 0
        self._place: Place | None = None
        self._place_mark: Any = None

    def mark_place(self) -> None:
        """Tell rank and host, in each step: a capture may begin at any of them."""
        torch = _torch()
        if self._place is None or (not self._place.is_final and has_process_group(torch)):
            self._place = find_place(torch)
            self._place_mark = self.annotator.prepare(self._place.mark)
        self.annotator.mark(self._place_mark, self.annotator.domain)

    def start(self, text: str) -> object:
        """Begin a range, and return what ends it."""
        return self.annotator.start(self.annotator.prepare(text), self.annotator.domain)


@contextmanager
def step_range(number: int | None = None) -> Iterator[None]:
    """Mark what runs inside as `step N`, as a context manager or a decorator; one inside another marks nothing.

    Where the hook of `gapfinder run` is at work, it writes the range: its steps then end where this one does, not with
    an optimizer's step, and have its numbers. A step that raises is none: the next has its number. Nothing is marked,
    and it is said once, where nothing can write NVTX.

    Args:
        number: N; by default steps are counted from 0.
    """
    hook = _hook()
    if hook is not None:
        with _told(hook):
            yield
        return
    own = _own()
    if own.is_open:
        yield
        return
    own.is_open = True
    own.mark_place()
    token = own.start(f"step {own.steps if number is None else number}")
    try:
        yield
        own.steps += 1
    finally:
        own.annotator.end(token)
        own.is_open = False


@contextmanager
def _told(hook: Recorder) -> Iterator[None]:
    is_outermost = hook.enter_told_step()
    is_complete = False
    try:
        yield
        is_complete = True
    finally:
        if is_outermost:
            hook.leave_told_step(is_complete=is_complete)


@cache
def _own() -> _Own:
    return _Own()


def _annotator() -> Annotator:
    try:
        return find_annotator(_torch())
    except UnavailableError as error:
        sys.stderr.write(f"gapfinder: steps are not marked: {error}\n")
        return Silence()


def _hook() -> Recorder | None:
    """Return what the hook marks this process with; None where there is no hook."""
    module = sys.modules.get("_gapfinder_hook.attach")
    recorder: Recorder | None = None if module is None else module.recorder_here()
    return recorder


def _torch() -> ModuleType:
    return sys.modules.get("torch") or ModuleType("torch")
