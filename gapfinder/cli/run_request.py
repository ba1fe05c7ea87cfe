"""What the options of `gapfinder run` ask for."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.capture.command import CaptureOptions, CaptureRange
from gapfinder.capture.session import DEFAULT_WINDOW, RunRequest
from gapfinder.errors import InputError
from gapfinder.training.environment import CaptureWindow
from gapfinder.units import parse_step_range

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


def make_request(
    command: Sequence[str],
    *,
    steps: str | None,
    per_rank: bool,
    capture_range: str | None,
    nvtx_range: str | None,
    no_annotate: bool,
    nsys_args: Sequence[str],
) -> RunRequest:
    """Return what to run; InputError for options that exclude each other, and for a program that is not there."""
    chosen = None if capture_range is None else CaptureRange(capture_range)
    if nvtx_range is not None and chosen is None:
        chosen = CaptureRange.NVTX
    if steps is not None and (no_annotate or chosen is not None):
        other = "--no-annotate" if no_annotate else "--capture-range"
        raise InputError(
            f"--steps needs gapfinder's own marks and window, which {other} turns off; leave one of them out, or "
            "choose steps afterwards with `gapfinder analyze --steps`"
        )
    window = None
    if chosen is None and not no_annotate:
        window = DEFAULT_WINDOW
        if steps is not None:
            first, end = parse_step_range(steps)
            window = CaptureWindow(first=first, end=end)
    training = _training(command)
    return RunRequest(
        training=training,
        name=_name(command),
        window=window,
        is_annotated=not no_annotate,
        is_per_rank=per_rank,
        options=CaptureOptions(
            capture_range=chosen or CaptureRange.NONE,
            nvtx_range=nvtx_range,
            nsys_args=tuple(word for given in nsys_args for word in shlex.split(given)),
            environment={},
        ),
    )


def shell_line(words: Sequence[str], *, environment: Mapping[str, str]) -> str:
    """Return a command that a shell would run in the same way."""
    return " ".join([*(f"{name}={shlex.quote(value)}" for name, value in environment.items()), shlex.join(words)])


def _training(command: Sequence[str]) -> tuple[str, ...]:
    program = command[0]
    if program.endswith(".py"):
        if not Path(program).is_file():
            raise InputError(f"no such script: {program}")
        python = next(filter(shutil.which, ("python", "python3")), None)
        if python is None:
            raise InputError(f"no python on PATH to run {program} with; activate its environment")
        return (python, *command)
    if shutil.which(program) is None:
        raise InputError(f"{program!r} is no program on PATH; give a .py file, or a command such as torchrun")
    return tuple(command)


def _name(command: Sequence[str]) -> str:
    """Return what the run folder is called after: the script where one is seen."""
    scripts = (word for word in command if word.endswith(".py"))
    return Path(next(scripts, command[0])).stem
