"""Every error gapfinder raises on purpose; the exit code is part of the class.

A message is one line: what is wrong, what was seen, what to do. Only `gapfinder.cli` catches these.
"""

from __future__ import annotations

import shlex
import sys
from typing import ClassVar


class GapfinderError(Exception):
    """Base of every error a user can cause or meet; never raised itself."""

    exit_code: ClassVar[int] = 2


def visible(text: str) -> str:
    """Return `text` with every control, direction and unpaired surrogate character spelled out as Python's escape."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode("ascii") for c in text)


class RegressionError(GapfinderError):
    """A check found that something got worse than its limit allows (exit code 1)."""

    exit_code = 1


class InputError(GapfinderError):
    """A file, option or pattern that cannot be used as it is (exit code 2)."""


def missing_extra(what: str, *, needs: str, extra: str) -> InputError:
    """Return the error of a part of gapfinder whose extra is not installed; it names the pip of this Python."""
    pip = f"{shlex.quote(sys.executable)} -m pip install 'gapfinder[{extra}]'"
    return InputError(f"{what} needs {needs}, which is not installed here; install it with: {pip}")


class PlaceError(InputError):
    """A folder for what is written on the way cannot be used, or is full (exit code 2).

    What is wrong and what to do are kept apart, as whoever chose the folder knows better what to do.
    """

    def __init__(self, wrong: str, advice: str) -> None:
        super().__init__(wrong, advice)
        self.wrong = wrong
        self.advice = advice

    def __str__(self) -> str:
        """Return the message: one line."""
        return f"{self.wrong}; {self.advice}"


class InconclusiveError(GapfinderError):
    """The input is sound, but it cannot answer the question (exit code 3)."""

    exit_code = 3


class NsysError(GapfinderError):
    """nsys is missing or failed (exit code 4)."""

    exit_code = 4


class CheckpointError(GapfinderError):
    """A checkpoint of a training cannot be written, read or continued (exit code 2)."""


class SelfCheckError(GapfinderError):
    """The ranks of a training are not fit to begin together (exit code 2)."""
