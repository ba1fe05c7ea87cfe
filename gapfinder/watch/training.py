"""The training that is watched: a child with our own input and output, which gets the signals that reach us."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

from gapfinder.capture.launch import as_sent
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_SIGNALLED = 128


class Training:
    """A training that runs; it outlives us, as nothing of it goes through us.

    Attributes:
        times_given_up: how often somebody asked for the end after the training had ended.
    """

    def __init__(self, words: Sequence[str], *, environment: Mapping[str, str], tell: Callable[[str], None]) -> None:
        """Start it in a session of its own, where no Ctrl-C reaches it but the ones that are passed on."""
        sys.stdout.flush()
        self.times_given_up = 0
        self._tell = tell
        self._sent: list[signal.Signals] = []
        try:
            self._process = subprocess.Popen(words, env=environment, start_new_session=True)  # noqa: S603 (the user's)
        except OSError as error:
            raise InputError(f"{words[0]} cannot be run: {error.strerror}") from error

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def exit_code(self, *, wait_s: float) -> int | None:
        """Return its exit code, 128 + n where signal n ended it; None while it runs."""
        with suppress(subprocess.TimeoutExpired):
            code = self._process.wait(wait_s)
            return code if code >= 0 else _SIGNALLED - code
        return None

    def forward(self, number: int, _frame: object) -> None:
        """Pass a signal on: Ctrl-C to all its processes, first as it is, then as SIGTERM, then as SIGKILL."""
        received = signal.Signals(number)
        if self._process.returncode is not None:
            self.times_given_up += 1
            return
        sent = as_sent(received, before=self._sent)
        self._sent.append(sent)
        self._tell(f"{sent.name} sent to the training")
        with suppress(ProcessLookupError):
            if received is signal.SIGINT:
                os.killpg(self.pid, sent)
            else:
                os.kill(self.pid, sent)
