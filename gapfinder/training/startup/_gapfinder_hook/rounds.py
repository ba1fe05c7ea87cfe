"""Decides which call of an optimizer ends a training step, where there may be several optimizers."""

from __future__ import annotations

import weakref


class OptimizerRound:
    """The optimizers of a training and those of them that have stepped in the current step.

    A step ends when every optimizer that was built, and still exists, has stepped. One that steps a second time before
    that shows that the others do not step every time: from then on it ends the step alone.

    Attributes:
        is_complete: whether the step has ended with the call that was just left.
        begin: begins the next step; a compiled function.
        open: the ids of the optimizers whose calls are under way, the outermost first; one may be there twice.
        only: the id of the optimizer where there is one alone; the recorder may then leave out `enter` and `leave`.
    """

    def __init__(self) -> None:
        self._known: dict[int, weakref.ref[object]] = {}
        self._leader: int | None = None
        self._stepped: set[int] = set()
        self._inner: set[int] = set()
        self.open: list[int] = []
        self.is_complete = False
        self.only: int | None = None
        self.begin = self._stepped.clear

    def knows(self, optimizer: object) -> bool:
        """Say whether `optimizer` is counted in."""
        return id(optimizer) in self._known

    def add(self, optimizer: object) -> None:
        """Count `optimizer` in as long as it exists; one that is built inside a call is waited for after it."""
        key = id(optimizer)
        self._known[key] = weakref.ref(optimizer, lambda _: self._forget(key))
        if self.open:
            self._inner.add(key)
        self._look_for_only()

    def enter(self, optimizer: object) -> bool:
        """Note that a call of `optimizer` begins; return whether no other is under way."""
        key = id(optimizer)
        if not self.knows(optimizer):
            self.add(optimizer)
        self.open.append(key)
        return len(self.open) == 1

    def leave(self, optimizer: object) -> bool:
        """Note that a call of `optimizer` ended; return whether it was the outermost one."""
        key = id(optimizer)
        if not self._close(key):
            return False
        if self.open:
            self._inner.add(key)
            return False
        stepped = self._stepped
        if key in stepped:
            self._leader = key
        stepped.add(key)
        if self._inner:
            stepped |= self._inner
            self._inner.clear()
        self.is_complete = self._leader in stepped if self._leader in self._known else self._known.keys() <= stepped
        return True

    def abandon(self, optimizer: object) -> bool:
        """Note that a call of `optimizer` raised, and is no step; return whether it was the outermost one."""
        return self._close(id(optimizer)) and not self.open

    def _close(self, key: int) -> bool:
        """Take the innermost call of `key` off, with those of other threads above it; return whether there was one."""
        if key not in self.open:
            return False
        while self.open.pop() != key:
            pass
        return True

    def _forget(self, key: int) -> None:
        """Forget an optimizer that is gone: a new one may get its id."""
        self._known.pop(key, None)
        self._stepped.discard(key)
        self._inner.discard(key)
        if self._leader == key:
            self._leader = None
        self._look_for_only()

    def _look_for_only(self) -> None:
        self.only = next(iter(self._known)) if len(self._known) == 1 else None
