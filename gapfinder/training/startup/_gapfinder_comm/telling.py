"""Tells gapfinder on standard output what a rank does: whatever launcher and machines are between, its lines come."""

from __future__ import annotations

import base64
import json
import os
import signal
import threading
import zlib

MARK = "@gapfinder-comm "
_BEAT_S = 1.0
_PIECE = 3000  # a line up to 4096 bytes (PIPE_BUF) is not torn apart by what other ranks write
_SIGNALLED = 128


class Teller:
    """Writes lines with a mark; each is one JSON object with the rank and a word that says what it is.

    Words are `hello` (once, before anything can fail), `stage` (what the rank begins), `beat` (every second), `part` (a
    piece of the result), and as the last one `done`, `failed` or `ended` (by SIGTERM).
    """

    def __init__(self, rank: int) -> None:
        self._rank = rank
        self._lock = threading.Lock()

    def say(self, word: str, **told: object) -> None:
        """Write a line; a rank whose lines nobody reads any more ends."""
        line = MARK + json.dumps({"rank": self._rank, "word": word, **told}) + "\n"
        try:
            with self._lock:
                os.write(1, line.encode())
        except OSError:
            os._exit(1)

    def stage(self, name: str) -> None:
        """Say what the rank begins."""
        self.say("stage", stage=name)

    def failed(self, error: BaseException) -> None:
        """Say that the rank ends with an error."""
        text = " ".join(str(error).split())
        self.say("failed", error=f"{type(error).__name__}: {text[:500]}")

    def result(self, value: object) -> None:
        """Say a value in as many lines as it needs."""
        text = base64.b64encode(zlib.compress(json.dumps(value).encode())).decode()
        pieces = [text[at : at + _PIECE] for at in range(0, len(text), _PIECE)]
        for number, piece in enumerate(pieces):
            self.say("part", number=number, of=len(pieces), text=piece)

    def start_beating(self) -> None:
        """Say every second that the process lives, also while torch waits; call it before other threads are there."""
        # Python's own handlers wait for torch to return; a thread that waits for the signal does not.
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
        threading.Thread(target=self._beat, args=(os.getppid(),), daemon=True).start()

    def _beat(self, parent: int) -> None:
        while True:
            if signal.sigtimedwait({signal.SIGTERM}, _BEAT_S) is not None:
                self.say("ended")
                os._exit(_SIGNALLED + signal.SIGTERM)
            if os.getppid() != parent:  # the launcher died, and nobody is left who would end this rank
                os._exit(1)
            self.say("beat")
