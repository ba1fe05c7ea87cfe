"""Builds the command line of `nsys profile`: a pure function of what is wanted and what this nsys knows."""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from gapfinder.errors import InputError, NsysError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from gapfinder.capture.nsys import Nsys

TRACES = "cuda,nvtx,osrt"
# nsys compares a capture range only with registered strings unless this is 0, and neither torch nor Python's nvtx
# registers theirs: the range would never open.
ENVIRONMENT = {"NSYS_NVTX_PROFILER_REGISTER_ONLY": "0"}
_END = "--capture-range-end"
_LONG = {
    "-b": "--backtrace",
    "-c": "--capture-range",
    "-d": "--duration",
    "-e": "--env-var",
    "-f": "--force-overwrite",
    "-n": "--inherit-environment",
    "-o": "--output",
    "-p": "--nvtx-capture",
    "-s": "--sample",
    "-t": "--trace",
    "-w": "--show-output",
    "-x": "--stop-on-exit",
    "-y": "--delay",
}
_OWN = {
    "--output": "the report goes into the run folder (--output of gapfinder)",
    "--force-overwrite": "the run folder is always a new one",
    "--capture-range": "use gapfinder's own --capture-range",
    "--nvtx-capture": "use gapfinder's own --nvtx-range",
    "--session-new": "gapfinder lets nsys name its session",
    "--command-file": "give its options one by one",
}
_OPTION = re.compile(r"-[A-Za-z]|--[a-z][a-z0-9-]*")


class CaptureRange(StrEnum):
    """What starts and stops the capture; the values of nsys's own option."""

    NONE = "none"
    NVTX = "nvtx"
    CUDA = "cudaProfilerApi"


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptureOptions:
    """What is wanted of nsys.

    Attributes:
        nvtx_range: NAME@DOMAIN (`*` for any domain) that captures while it is open; with CaptureRange.NVTX only.
        nsys_args: further words for nsys; they win over gapfinder's defaults.
        environment: further variables that the training is to have.

    Raises InputError for a capture by an NVTX range without a name, and for words that would lose the report.
    """

    capture_range: CaptureRange = CaptureRange.NONE
    nvtx_range: str | None = None
    nsys_args: tuple[str, ...] = ()
    environment: Mapping[str, str]

    def __post_init__(self) -> None:
        if (self.capture_range is CaptureRange.NVTX) != (self.nvtx_range is not None):
            raise InputError(
                "a capture by an NVTX range needs its name, and a name needs such a capture: give both "
                "--capture-range nvtx and --nvtx-range NAME@DOMAIN"
            )
        for name in map(option_name, self.nsys_args):
            if name in _OWN:
                raise InputError(f"--nsys-arg must not set {name}: {_OWN[name]}")


@dataclass(frozen=True, kw_only=True, slots=True)
class CaptureCommand:
    """A command line of nsys without its report and training, and the variables to set around it."""

    nsys: tuple[str, ...]
    environment: Mapping[str, str]

    def words(self, training: Sequence[str], *, output: Path) -> tuple[str, ...]:
        """Return the whole command that runs `training` and writes the report `output` (its name has no suffix)."""
        # nsys replaces %p, %h and %q{NAME} in a report's name, and %% by %
        return (*self.nsys, f"--output={str(output).replace('%', '%%')}", *training)

    def __str__(self) -> str:
        return shlex.join(self.nsys)


def capture_command(options: CaptureOptions, *, nsys: Nsys, known: frozenset[str]) -> CaptureCommand:
    """Return how to run this nsys.

    Args:
        options: what is wanted.
        nsys: which nsys it is.
        known: the options that it knows, with their dashes.

    Raises:
        InputError: nsys does not know an option that the user gave.
        NsysError: this nsys cannot end a capture without ending the training.
    """
    given = [name for name in map(option_name, options.nsys_args) if name is not None]
    unknown = [name for name in given if name.startswith("--") and name not in known]
    if unknown:
        raise InputError(f"--nsys-arg: nsys {nsys.version} knows no option {unknown[0]}; see `nsys profile --help`")
    if options.capture_range is not CaptureRange.NONE and _END not in known:
        raise NsysError(
            f"nsys {nsys.version} ends the training together with the capture (it has no {_END}); install nsys 2022 "
            "or newer, or capture the whole run with --capture-range none"
        )
    defaults = [word for word in _defaults(options) if option_name(word) in known and option_name(word) not in given]
    return CaptureCommand(
        nsys=(str(nsys.path), "profile", *defaults, *options.nsys_args),
        environment={**ENVIRONMENT, **options.environment},
    )


def _defaults(options: CaptureOptions) -> Iterator[str]:
    yield f"--trace={TRACES}"
    yield "--sample=none"
    yield "--cpuctxsw=none"
    yield "--cuda-graph-trace=node"
    if options.capture_range is not CaptureRange.NONE:
        yield f"--capture-range={options.capture_range}"
        yield f"{_END}=stop"
    if options.nvtx_range is not None:
        yield f"--nvtx-capture={options.nvtx_range}"


def option_name(word: str) -> str | None:
    """Return the long name of an option; None for a word that is an option's value."""
    match = _OPTION.match(word)
    return None if match is None else _LONG.get(match[0], match[0])
