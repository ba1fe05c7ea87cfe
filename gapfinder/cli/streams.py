"""Standard output and error as the command line needs them."""

from __future__ import annotations

import io
import os
import signal
import sys
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from gapfinder.errors import InputError, visible

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer


class _StandardOutput(io.FileIO):
    """Standard output that says in an error of ours why it takes no more."""

    def write(self, data: ReadableBuffer, /) -> int:
        try:
            return super().write(data)
        except OSError as error:
            # What is still in a buffer above this one must not fail once more when Python ends.
            os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            raise InputError(f"cannot write to standard output: {error.strerror}") from error


def prepare_streams() -> None:
    """Let no character be one that a stream cannot write, and no failure of standard output be a traceback.

    Raises InputError where standard output is closed.
    """
    if sys.stdout is None:
        raise InputError("standard output is closed; send it to /dev/null where it is not wanted")
    if isinstance(sys.stderr, io.TextIOWrapper):
        sys.stderr.reconfigure(errors="backslashreplace")
    if isinstance(sys.stdout, io.TextIOWrapper):
        raw = _StandardOutput(sys.stdout.fileno(), "wb", closefd=False)
        sys.stdout = io.TextIOWrapper(
            io.BufferedWriter(raw), encoding=sys.stdout.encoding, errors="backslashreplace", line_buffering=raw.isatty()
        )


def outlive_connections() -> None:
    """Let a connection that the other side closes be an error that is dealt with, and not the end of the process."""
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def say(message: str) -> None:
    """Say something in one line on stderr, where there is one, whatever names the message holds."""
    with suppress(OSError):
        click.echo(visible(message), err=True)
