"""Runs programs that may hang: each command once, with a deadline, and no program again that missed one."""

from __future__ import annotations

import errno
import os
import selectors
import shutil
import signal
import subprocess
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from gapfinder.doctor.check import NotCheckedError
from gapfinder.units import format_bytes

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Answer = TypeVar("Answer")
_LONGEST_WORDS = 200
_AT_ONCE = 65_536
_MOST_BYTES = 16_000_000
_BURIAL_SECONDS = 1


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """What a program said.

    Attributes:
        code: its exit code; negative where a signal ended it.
    """

    code: int
    output: str
    errors: str

    def words(self) -> str:
        """Return its last line, of the errors if there are any: what it complains about."""
        lines = (self.errors.strip() or self.output.strip()).splitlines()
        return lines[-1].strip()[:_LONGEST_WORDS] if lines else "it said nothing"


class Programs:
    """Runs the programs that `environment` finds; remembers what they said, and which of them hung."""

    def __init__(self, environment: Mapping[str, str]) -> None:
        self._environment = {**environment, "LC_ALL": "C"}
        self._said: dict[tuple[str, ...], Ran] = {}
        self._failed: dict[str, str] = {}

    def __call__(self, command: tuple[str, ...], seconds: float) -> Ran:
        """Return what a command says within `seconds`; NotCheckedError where it is missing or says nothing in time."""
        name = os.path.basename(command[0])  # noqa: PTH119 (a text, as in a command)
        if command[0] in self._failed:
            raise NotCheckedError(self._failed[command[0]])
        if command not in self._said:
            path = shutil.which(command[0], path=self._environment.get("PATH"))
            if path is None:
                raise NotCheckedError(f"{name} not found")
            try:
                self._said[command] = self._run((path, *command[1:]), seconds)
            except TimeoutError:
                self._failed[command[0]] = f"{name} gave no answer within {seconds:g} s"
            except OSError as error:
                self._failed[command[0]] = f"{name} cannot be run: {error.strerror}"
            if command[0] in self._failed:
                raise NotCheckedError(self._failed[command[0]])
        return self._said[command]

    def _run(self, command: tuple[str, ...], seconds: float) -> Ran:
        process = subprocess.Popen(  # noqa: S603
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=self._environment,
            start_new_session=True,
        )
        try:
            output, errors = _heard(process, seconds)
        finally:
            _end(process)
        return Ran(
            code=process.returncode,
            output=output.decode(errors="replace"),
            errors=errors.decode(errors="replace"),
        )


def _heard(process: subprocess.Popen[bytes], seconds: float) -> tuple[bytes, bytes]:
    """Return what a program wrote until it ended; TimeoutError where it takes longer, OSError where it never stops."""
    deadline = time.monotonic() + seconds
    heard = {pipe.fileno(): bytearray() for pipe in (process.stdout, process.stderr) if pipe is not None}
    with selectors.DefaultSelector() as selector:
        for pipe in heard:
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            left = deadline - time.monotonic()
            ready = selector.select(left) if left > 0 else []
            if not ready:
                raise TimeoutError
            for key, _ in ready:
                data = os.read(key.fd, _AT_ONCE)
                heard[key.fd] += data
                if not data:
                    selector.unregister(key.fd)
                elif len(heard[key.fd]) > _MOST_BYTES:
                    raise OSError(errno.EFBIG, f"it printed more than {format_bytes(_MOST_BYTES)}")
    try:
        process.wait(max(0, deadline - time.monotonic()))
    except subprocess.TimeoutExpired as error:
        raise TimeoutError from error
    output, errors = heard.values()
    return bytes(output), bytes(errors)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a program and its children. One that hangs in a driver cannot die, and is not waited for."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        with suppress(subprocess.TimeoutExpired):
            process.wait(_BURIAL_SECONDS)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def within(seconds: float, ask: Callable[[], Answer], *, what: str) -> Answer:
    """Return what a system call says that may hang, such as on a file system whose server is gone.

    Raises NotCheckedError where it says nothing in time; what `ask` raises is passed on if it is an OSError.
    """
    said: list[Answer] = []
    failed: list[OSError] = []

    def answer() -> None:
        try:
            said.append(ask())
        except OSError as error:
            failed.append(error)

    thread = threading.Thread(target=answer, daemon=True)
    thread.start()
    thread.join(seconds)
    if failed:
        raise failed[0]
    if not said:
        raise NotCheckedError(f"{what} gave no answer within {seconds:g} s")
    return said[0]
