"""Standard output and error as the command line needs them."""

from __future__ import annotations

import io
import os
import shutil
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


_WIDTH, _NARROWEST = 100, 60


def text_layout(*, is_terminal: bool | None) -> tuple[int, bool]:
    """Return width and whether text is coloured; `is_terminal` is that of standard output where it is None."""
    if not (sys.stdout.isatty() if is_terminal is None else is_terminal):
        return _WIDTH, False
    width = max(shutil.get_terminal_size((_WIDTH, 0)).columns, _NARROWEST)
    return width, not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


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


def say(message: str) -> None:
    """Say something in one line on stderr, where there is one, whatever names the message holds."""
    with suppress(OSError):
        click.echo(visible(message), err=True)
