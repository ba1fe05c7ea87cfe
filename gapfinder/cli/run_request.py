"""What the options of `gapfinder run` ask for."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.capture.command import CaptureOptions, CaptureRange
from gapfinder.capture.launchers import active_python
from gapfinder.capture.session import DEFAULT_WINDOW, RunRequest
from gapfinder.errors import InputError
from gapfinder.training.environment import CaptureWindow
from gapfinder.units import parse_step_range

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gapfinder.cli.run_options import Wanted


def make_request(command: Sequence[str], *, wanted: Wanted) -> RunRequest:
    """Return what to run; InputError for options that exclude each other, and for a program that is not there."""
    chosen = None if wanted.capture_range is None else CaptureRange(wanted.capture_range)
    if chosen is None and wanted.nvtx_range is not None:
        chosen = CaptureRange.NVTX
    return RunRequest(
        training=training_words(command),
        name=training_name(command),
        window=_window(wanted, chosen=chosen),
        is_annotated=not wanted.no_annotate,
        is_per_rank=wanted.per_rank,
        options=CaptureOptions(
            capture_range=chosen or CaptureRange.NONE,
            nvtx_range=wanted.nvtx_range,
            nsys_args=nsys_words(wanted.nsys_args),
            environment={},
        ),
    )


def _window(wanted: Wanted, *, chosen: CaptureRange | None) -> CaptureWindow | None:
    """Return the steps that the hook is to capture; None where something else starts and stops the capture."""
    if chosen is None and not wanted.no_annotate:
        if wanted.steps is None:
            return DEFAULT_WINDOW
        first, end = parse_step_range(wanted.steps)
        return CaptureWindow(first=first, end=end)
    if wanted.steps is not None:
        other = "--no-annotate" if wanted.no_annotate else "--capture-range"
        raise InputError(
            f"--steps needs gapfinder's own marks and window, which {other} turns off; leave one of them out, or "
            "choose steps afterwards with `gapfinder analyze --steps`"
        )
    return None


def shell_line(words: Sequence[str], *, environment: Mapping[str, str]) -> str:
    """Return a command that a shell would run in the same way."""
    return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in environment.items()), shlex.join(words)])


def nsys_words(given: Sequence[str]) -> tuple[str, ...]:
    """Return the words of all --nsys-arg, each of which may hold several."""
    return tuple(word for one in given for word in _words(one))


def _words(given: str) -> list[str]:
    try:
        return shlex.split(given)
    except ValueError as error:
        raise InputError(f"--nsys-arg {given!r}: {str(error).lower()}") from error


def training_words(command: Sequence[str]) -> tuple[str, ...]:
    """Return the training's command line; InputError where its program or script is not there."""
    program = command[0]
    if program.endswith(".py"):
        if not Path(program).is_file():
            raise InputError(f"no such script: {program}")
        python = active_python()
        if python is None:
            raise InputError(f"no python on PATH to run {program} with; activate its environment")
        return (python, *command)
    if shutil.which(program) is None:
        raise InputError(f"{program!r} is no program on PATH; give a .py file, or a command such as torchrun")
    return tuple(command)


def training_name(command: Sequence[str]) -> str:
    """Return what the run folder is called after: the script where one is seen."""
    scripts = (word for word in command if word.endswith(".py"))
    return Path(next(scripts, command[0])).stem
