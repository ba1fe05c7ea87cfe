"""Which options an idle session of nsys has: some stand when it is launched, others when a capture starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.capture.command import option_name
from gapfinder.capture.nsys import known_options
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.capture.nsys import Nsys

TRACES = "cuda,nvtx"
"""Without osrt, whose interception of the C library costs a training more than all the rest, also while it is idle."""

_LAUNCH_DEFAULTS = (f"--trace={TRACES}", "--cuda-graph-trace=node")
_START_DEFAULTS = ("--sample=none", "--cpuctxsw=none")
_RANGES = ("--capture-range", "--capture-range-end", "--nvtx-capture", "--delay", "--duration", "--stop-on-exit")
_OWN = frozenset({*_RANGES, "--output", "--force-overwrite", "--session", "--session-new", "--command-file", "--wait"})


@dataclass(frozen=True, kw_only=True, slots=True)
class SessionOptions:
    """Words for `nsys launch` and for `nsys start`."""

    launch: tuple[str, ...]
    start: tuple[str, ...]


def session_options(nsys: Nsys, *, nsys_args: Sequence[str]) -> SessionOptions:
    """Return gapfinder's own options where this nsys knows them, and the user's, which win.

    Raises InputError for an option that the watch must set itself, or that this nsys does not know.
    """
    known = {
        "launch": known_options(nsys, command="launch", expected="--session-new"),
        "start": known_options(nsys, command="start", expected="--session"),
    }
    given: dict[str, list[str]] = {"launch": [], "start": []}
    place = "start"
    for word in nsys_args:
        name = option_name(word)
        if name in _OWN:
            raise InputError(f"--nsys-arg must not set {name}: the watch starts and ends its captures by itself")
        if name is not None:
            place = next((command for command, options in known.items() if name in options), "")
        if not place:
            raise InputError(
                f"--nsys-arg: nsys {nsys.version} knows no option {name or word}; see `nsys launch --help` and "
                "`nsys start --help`"
            )
        given[place].append(word)
    return SessionOptions(
        launch=(*_kept(_LAUNCH_DEFAULTS, known=known["launch"], given=given["launch"]), *given["launch"]),
        start=(*_kept(_START_DEFAULTS, known=known["start"], given=given["start"]), *given["start"]),
    )


def _kept(defaults: Sequence[str], *, known: frozenset[str], given: Sequence[str]) -> list[str]:
    names = {option_name(word) for word in given}
    return [word for word in defaults if (name := option_name(word)) in known and name not in names]
