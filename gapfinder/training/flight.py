"""What a training leaves when it ends badly: its last steps, and what each of its threads was doing."""

from __future__ import annotations

import json
import os
import platform
import sys
import threading
import time
import traceback
from collections import deque
from typing import TYPE_CHECKING, TypeAlias

from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from gapfinder.training.ranks import Ranks

OWN_THREAD = "gapfinder-termination"
Value: TypeAlias = "bool | int | float | str"


class FlightLog:
    """The last steps of one rank, each with what the script told of it."""

    def __init__(self, *, steps: int, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._began = clock()
        self._steps: deque[dict[str, Value]] = deque(maxlen=steps)

    def add(self, step: int, values: Mapping[str, Value]) -> None:
        """Note a step that is done.

        Raises:
            InputError: a value is something else than a number or a text: a tensor would have to be read later, from a
                device that may hang by then.
        """
        for name, value in values.items():
            if not isinstance(value, (bool, int, float, str)):
                raise InputError(f"{name} is a {type(value).__name__}; give a number or a text, such as {name}.item()")
        self._steps.append({"step": step, "unix_s": round(self._clock(), 6), **values})

    def lines(self, *, reason: str, error: str, ranks: Ranks, threads: Iterable[str]) -> Iterable[str]:
        """Return JSON lines: first what ended the training and where, then its last steps, then its threads."""
        now = self._clock()
        yield json.dumps(
            {
                "reason": reason,
                "traceback": error,
                "unix_s": round(now, 6),
                "ran_s": round(now - self._began, 3),
                "rank": ranks.rank,
                "world_size": ranks.world_size,
                "host": platform.node(),
                "pid": os.getpid(),
                "python": platform.python_version(),
            }
        )
        for step in self._steps:
            yield json.dumps(step)
        for text in threads:
            yield json.dumps({"thread": text})


def thread_stacks() -> list[str]:
    """Return the name and the stack of each thread of the training, that of the main thread first."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    main = threading.main_thread().ident
    frames = sorted(sys._current_frames().items(), key=lambda one: (one[0] != main, one[0]))  # noqa: SLF001
    return [
        f"{names.get(ident, f'thread {ident}')}\n{''.join(traceback.format_stack(frame))}"
        for ident, frame in frames
        if names.get(ident) != OWN_THREAD
    ]
