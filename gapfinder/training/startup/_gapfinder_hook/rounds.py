"""Decides which call of an optimizer ends a training step, where there may be several optimizers."""

from __future__ import annotations

import sys
import weakref

STEP, SCALER = "step", "scaler"  # who calls: the optimizer's own step, or torch.amp.GradScaler around it


class OptimizerRound:
    """The optimizers of a training and those of them that have stepped in the current step.

    A step ends when every optimizer that was built, and still exists, has stepped. One that steps a second time before
    that shows that the others do not step every time: from then on it ends the step alone.

    Attributes:
        is_complete: whether the step has ended with the call that was just left.
        begin: begins the next step; a compiled function.
        open: the calls under way, the outermost first.
        only: the id of the optimizer where there is one alone, and `only_call` is its own step; the recorder then looks
            after `open` by itself.
    """

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[object]] = {}
        self._leader: int | None = None
        self._stepped: set[int] = set()
        self._inner: set[int] = set()
        self.open: list[tuple[int, str]] = []
        self.is_complete = False
        self.only: int | None = None
        self.only_call = (0, STEP)
        self.begin = self._stepped.clear

    def add(self, optimizer: object) -> None:
        """Count `optimizer` in as long as it exists."""
        key = id(optimizer)
        self._known[key] = weakref.ref(optimizer, lambda _: self._forget(key))
        self._look_for_only()

    def enter(self, optimizer: object, caller: str) -> bool:
        """Note that a call of `optimizer` begins; return whether no other is under way.

        A step that raised is still noted as under way: torch tells its end to no hook.
        """
        call = (id(optimizer), caller)
        if call[0] not in self._known:
            self.add(optimizer)
        if self.open:
            self._close_what_raised(call)
        self.open.append(call)
        return len(self.open) == 1

    def leave(self, optimizer: object, caller: str) -> bool:
        """Note that a call of `optimizer` ended; return whether it was the outermost one."""
        call = (id(optimizer), caller)
        if call not in self.open:
            return False
        del self.open[self.open.index(call) :]
        if self.open:
            self._inner.add(call[0])
            return False
        stepped = self._stepped
        if call[0] in stepped:
            self._leader = call[0]
        stepped.add(call[0])
        if self._inner:
            stepped |= self._inner
            self._inner.clear()
        self.is_complete = self._leader in stepped if self._leader in self._known else self._known.keys() <= stepped
        return True

    def _close_what_raised(self, call: tuple[int, str]) -> None:
        if call in self.open:
            del self.open[self.open.index(call) :]
        elif self.open[0][1] == STEP and not _is_running(self.open[0][0]):
            self.open.clear()

    def _forget(self, key: int) -> None:
        """Forget an optimizer that is gone: a new one may get its id."""
        self._known.pop(key, None)
        self._stepped.discard(key)
        if self._leader == key:
            self._leader = None
        self._look_for_only()

    def _look_for_only(self) -> None:
        self.only = next(iter(self._known)) if len(self._known) == 1 else None
        self.only_call = (self.only or 0, STEP)


def _is_running(optimizer: int) -> bool:
    """Say whether a method of the optimizer of this id is still on the stack."""
    frame = sys._getframe(1)  # noqa: SLF001 - what traceback walks, without the text
    while frame.f_back is not None:
        frame = frame.f_back
        if id(frame.f_locals.get("self")) == optimizer:
            return True
    return False
