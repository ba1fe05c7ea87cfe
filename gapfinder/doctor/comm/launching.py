"""Puts gapfinder's own program where a launcher's command line has the training."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

import gapfinder.training
from gapfinder.capture.launchers import active_python, divide, is_python
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

PROBE = Path(gapfinder.training.__file__).parent / "startup" / "comm_probe.py"
"""The program of every rank."""

_OTHER_PROGRAMS = ("-m", "--module", "--no-python", "--run-path")


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbeCommand:
    """The command line to run, and the words that it leaves out: a training that was named with its launcher."""

    words: tuple[str, ...]
    left_out: tuple[str, ...]


def probe_command(command: Sequence[str], *, arguments: Sequence[str]) -> ProbeCommand:
    """Return the command that runs the probe as every rank.

    A training after the options of torchrun, mpirun or srun is left out, from its Python or its script on. Any other
    words there (`apptainer exec image`, or a launcher that is not known) stay, and the probe comes last.
    """
    if shutil.which(command[0]) is None:
        raise InputError(f"{command[0]!r} is no program on PATH; give the launcher and its options after --")
    before: tuple[str, ...] = ()
    rest, kind = tuple(command), None
    while rest and (launch := divide(rest)).kind is not None:
        kind, before, rest = launch.kind, (*before, *launch.before), launch.program
    left_out: tuple[str, ...] = ()
    if kind == "torchrun":
        before, rest, left_out = _as_script(before), (), rest
    elif kind is not None:
        rest, left_out = _divided(rest)
    words = (*before, *rest)
    is_torchrun = any(PurePath(word).name == "torchrun" for word in words) or kind == "torchrun"
    # torchrun runs a script with its own Python
    python = () if is_torchrun or is_python(words[-1]) else (_python(),)
    return ProbeCommand(words=(*words, *python, str(PROBE), *arguments), left_out=left_out)


def _as_script(before: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out the options of torchrun that say that what follows is no script."""
    modules = [at for at, word in enumerate(before) if word.startswith("torch.distributed.")]
    start = modules[0] + 1 if modules else 0
    return (*before[:start], *(word for word in before[start:] if word.replace("_", "-") not in _OTHER_PROGRAMS))


def _divided(rest: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return what stays of the words after a launcher's options, and what is left out."""
    for at, word in enumerate(rest):
        if is_python(word):
            return rest[: at + 1], rest[at + 1 :]
        if word.endswith(".py"):
            return rest[:at], rest[at:]
    return rest, ()


def _python() -> str:
    python = active_python()
    if python is None:
        raise InputError("no python on PATH to run as every rank; activate its environment, or write it after --")
    return python
