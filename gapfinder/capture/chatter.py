"""Passes a program's output on as it comes, and picks from it what nsys says about its files."""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from threading import Thread
from typing import IO

_AT_ONCE = 65_536
_LONGEST_LINE = 65_536
_STREAM = re.compile(rb"Generating '(.+?\.qdstrm)'")
_REPORT = re.compile(rb"[ \t]+(.+\.(?:nsys-rep|qdrep|qdstrm))\s*")


class Chatter(Thread):
    """Copies a stream of nsys to one of ours, byte for byte and without delay, until it ends.

    Attributes:
        streams: unfinished captures that nsys said it wrote.
        reports: reports that nsys said it wrote.
        last_heard: when something came last, on the clock of time.monotonic.
    """

    def __init__(self, source: IO[bytes], *, sink: int) -> None:
        super().__init__(daemon=True)
        self.streams: list[Path] = []
        self.reports: list[Path] = []
        self.last_heard = time.monotonic()
        self._source = source
        self._sink: int | None = sink
        self._line = b""
        self._is_listing = False

    def run(self) -> None:
        """Copy until the other side closes; where ours takes no more, go on reading, so that nobody has to wait."""
        with self._source:
            while data := os.read(self._source.fileno(), _AT_ONCE):
                self.last_heard = time.monotonic()
                self._pass_on(data)
                *lines, self._line = (self._line + data).split(b"\n")
                for line in lines:
                    self._hear(line)
                self._line = self._line[-_LONGEST_LINE:]

    def _pass_on(self, data: bytes) -> None:
        view = memoryview(data)
        try:
            while self._sink is not None and view:
                view = view[os.write(self._sink, view) :]
        except OSError:
            self._sink = None

    def _hear(self, line: bytes) -> None:
        if found := _STREAM.search(line):
            self.streams.append(Path(os.fsdecode(found[1])))
        if self._is_listing and (found := _REPORT.fullmatch(line)):
            self.reports.append(Path(os.fsdecode(found[1])))
        else:
            # the training's last line may have had no end
            self._is_listing = line.rstrip().endswith(b"Generated:")
