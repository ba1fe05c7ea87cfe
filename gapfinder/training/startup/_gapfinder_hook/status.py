"""Leaves one small file per process that says what the hook saw, for the process that started the training."""

from __future__ import annotations

import json
import os
import time

from .place import host, plain

_SECONDS_BETWEEN = 2.0
_LONGEST_TEXT = 1000


class StatusFile:
    """The status file of this process in `folder`."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._written_at = float("-inf")

    def is_due(self) -> bool:
        """Say whether the last writing is long enough ago for the next."""
        return time.monotonic() - self._written_at > _SECONDS_BETWEEN

    def forget(self) -> None:
        """Make the next writing due, as in a new process."""
        self._written_at = float("-inf")

    def write(self, **values: object) -> None:
        """Replace the file by one with these values; a folder that is gone or full loses the status, nothing else."""
        self._written_at = time.monotonic()
        content = {name: value[:_LONGEST_TEXT] if isinstance(value, str) else value for name, value in values.items()}
        content.update(pid=os.getpid(), host=host())
        name = f"{plain(host())}-{os.getpid()}"
        half = os.path.join(self._folder, f".{name}.half")
        try:
            with open(half, "w", encoding="utf-8") as file:
                json.dump(content, file)
            os.replace(half, os.path.join(self._folder, f"{name}.json"))
        except OSError:
            return

    def claim(self, name: str) -> bool:
        """Return whether this process is the first of its host that claims `name`."""
        path = os.path.join(self._folder, f"{plain(host())}.{name}")
        try:
            os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        except OSError:
            return False
        return True
