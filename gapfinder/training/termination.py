"""Notes SIGTERM, also while Python's main thread hangs, and ends the process by it when told to."""

from __future__ import annotations

import ctypes
import os
import signal
from contextlib import suppress
from functools import cache
from threading import Event, Thread, current_thread, main_thread
from typing import TYPE_CHECKING

from gapfinder.training.flight import OWN_THREAD

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import FrameType

_STOP = b"\0"


class Termination:
    """SIGTERM to this process, from `watch` to `forget`; not watched outside the main thread, nor where it is ignored.

    Attributes:
        is_asked: the signal has come.
    """

    def __init__(self, *, grace_s: float, too_late: Callable[[], None]) -> None:
        self._grace_s, self._too_late = grace_s, too_late
        self._before: Callable[[int, FrameType | None], object] | int | None = None
        self._is_handled = Event()
        self._pipe: tuple[int, int] | None = None
        self._watcher: Thread | None = None
        self.is_asked = False

    def watch(self) -> None:
        """Note the signal from now on."""
        if current_thread() is not main_thread() or signal.getsignal(signal.SIGTERM) in (signal.SIG_IGN, None):
            return
        self._before = signal.signal(signal.SIGTERM, self._note)
        # Python runs its handlers in the main thread, once that leaves what it is in. One that waits in a collective
        # for a rank that died never does: a thread hears of the signal through a descriptor.
        heard, tell = os.pipe()
        os.set_blocking(tell, False)
        before = signal.set_wakeup_fd(tell, warn_on_full_buffer=False)
        if before != -1:  # somebody else, such as an event loop, listens already
            signal.set_wakeup_fd(before)
            os.close(heard)
            os.close(tell)
        else:
            self._pipe = heard, tell
            self._watcher = Thread(target=self._listen, args=(heard,), name=OWN_THREAD, daemon=True)
            self._watcher.start()
        _watched.append(self)
        _mind_forks()

    def forget(self) -> None:
        """Leave the signal to whom it was left before."""
        self._is_handled.set()
        if self not in _watched:
            return
        _watched.remove(self)
        signal.signal(signal.SIGTERM, self._before)
        if self._pipe is not None:
            signal.set_wakeup_fd(-1)
            heard, tell = self._pipe
            self._pipe = None
            os.write(tell, _STOP)
            if self._watcher is not None:
                self._watcher.join()
            os.close(heard)
            os.close(tell)

    def die(self) -> None:
        """Have the signal do what it would have done before `watch`."""
        os.kill(os.getpid(), signal.SIGTERM)

    def die_now(self) -> None:
        """End the process by the signal, from any thread, whatever the main thread is in."""
        with suppress(OSError, AttributeError):
            # signal.signal works in the main thread only
            ctypes.CDLL(None).signal(int(signal.SIGTERM), None)
        os.kill(os.getpid(), signal.SIGTERM)

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.is_asked = True

    def _listen(self, heard: int) -> None:
        while (received := os.read(heard, 64)) and _STOP not in received:
            if bytes([signal.SIGTERM]) in received and not self._is_handled.wait(self._grace_s):
                self._too_late()
                return

    def forget_in_child(self) -> None:
        """Leave the signal alone in a forked process, which has neither the thread nor anything to save."""
        signal.signal(signal.SIGTERM, self._before)
        if self._pipe is not None:
            signal.set_wakeup_fd(-1)


_watched: list[Termination] = []


@cache
def _mind_forks() -> None:
    os.register_at_fork(after_in_child=_forget_in_child)


def _forget_in_child() -> None:
    for one in _watched:
        one.forget_in_child()
    _watched.clear()
