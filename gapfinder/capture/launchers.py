"""Knows the launchers of many ranks: where on their command line the program of each rank begins."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass
from pathlib import PurePath
from typing import TYPE_CHECKING

from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_ATTACHED = re.compile(r"-[A-Za-z][0-9]+")
_PYTHON = re.compile(r"python[0-9.]*")
_TORCH_MODULES = ("torch.distributed.run", "torch.distributed.launch")


@dataclass(frozen=True, kw_only=True, slots=True)
class Launcher:
    """How a launcher's options look; an option that is not listed takes one value.

    Attributes:
        flags: options without a value.
        pairs: options with two values.
        counts: options whose value is the number of ranks it starts here.
        is_program: whether a word after an option that is not listed must be the program, and not its value.
    """

    flags: frozenset[str]
    pairs: frozenset[str] = frozenset()
    counts: frozenset[str]
    is_program: Callable[[str], bool]


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """A command line, divided.

    Attributes:
        kind: the launcher's name; None where the command starts no ranks that are known.
        before: the launcher and its options.
        program: what each rank runs.
        ranks: how many ranks are started; None where only the launcher knows.
    """

    kind: str | None
    before: tuple[str, ...]
    program: tuple[str, ...]
    ranks: int | None


def active_python(path: str | None = None) -> str | None:
    """Return the name of the Python that runs a training which names none: the first on `path`, else on PATH."""
    return next((name for name in ("python", "python3") if shutil.which(name, path=path)), None)


def _is_executable(word: str) -> bool:
    return shutil.which(word) is not None


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Options without a value: `torchrun --help` of torch 1.10 to 2.13, `mpirun --help` of Open MPI 4 and 5 and of MPICH 4,
# `srun --help` of Slurm 23.
_TORCHRUN = Launcher(
    flags=_words("""
        --standalone -m --module --no-python --no_python --run-path --run_path --use-env --use_env
        --virtual-local-rank --virtual_local_rank -h --help
    """),
    counts=_words("--nproc-per-node --nproc_per_node"),
    is_program=lambda word: word.endswith(".py"),
)
_MPIRUN = Launcher(
    flags=_words("""
        --allow-run-as-root --oversubscribe --nooversubscribe --tag-output --timestamp-output --report-bindings
        --use-hwthread-cpus --do-not-launch --display-map --display-allocation --bynode --byslot --bind-to-core
        --debug-daemons --enable-recovery --disable-recovery -v --verbose -q --quiet -V --version -h --help
        -l -prepend-rank -genvall -genvnone -envall -envnone
    """),
    pairs=_words("--mca -mca --gmca -gmca --prtemca --pmixmca -genv -env"),
    counts=_words("-n -np --np -c"),
    is_program=_is_executable,
)
_SRUN = Launcher(
    flags=_words("""
        -l --label -u --unbuffered -K --kill-on-bad-exit -O --overcommit -s --oversubscribe -v --verbose -Q --quiet
        -X --disable-status -Z --no-allocate -H --hold -k --no-kill -E --preserve-env --pty --exclusive --contiguous
        --exact --overlap --spread-job --use-min-nodes --whole --nvmps -h --help -V --version
    """),
    counts=_words("-n --ntasks"),
    is_program=_is_executable,
)
_LAUNCHERS = {"torchrun": _TORCHRUN, "mpirun": _MPIRUN, "mpiexec": _MPIRUN, "orterun": _MPIRUN, "srun": _SRUN}


def is_python(word: str) -> bool:
    """Say whether a word of a command line is a Python, with or without a version and a folder."""
    return _PYTHON.fullmatch(PurePath(word).name) is not None


def divide(command: Sequence[str]) -> Launch:
    """Return the parts of a command line."""
    kind, start = _kind(command)
    if kind is None:
        return Launch(kind=None, before=(), program=tuple(command), ranks=1)
    launcher = _LAUNCHERS[kind]
    at, ranks = start, "1" if kind == "torchrun" else None
    while at < len(command) and command[at].startswith("-"):
        name, has_value, value = command[at].partition("=")
        width = 1 if has_value or _ATTACHED.fullmatch(name) else _width(command[at:], launcher=launcher)
        if name in launcher.counts and width > 1 and at + 1 < len(command):
            value = command[at + 1]
        elif _ATTACHED.fullmatch(name):
            name, value = name[:2], name[2:]
        ranks = value if name in launcher.counts else ranks
        at += width
    return Launch(
        kind=kind,
        before=tuple(command[:at]),
        program=tuple(command[at:]),
        ranks=int(ranks) if ranks is not None and ranks.isdecimal() else None,
    )


def per_rank(command: Sequence[str], *, wrapper: Sequence[str], python: str) -> tuple[str, ...]:
    """Return the command with `wrapper`, a Python script and its arguments, in front of what each rank runs.

    torchrun runs the wrapper with its own Python, and so tells it which one is the training's; elsewhere `python` does.
    """
    launch = divide(command)
    if launch.kind is None:
        raise InputError(
            f"--per-rank does not know how {command[0]} starts its ranks; it knows {', '.join(_LAUNCHERS)} "
            "and python -m torch.distributed.run"
        )
    if not launch.program or ":" in launch.program:
        what = "names no program" if not launch.program else "names several (':')"
        raise InputError(f"--per-rank cannot be used: the command of {launch.kind} {what}")
    if launch.kind != "torchrun":
        return (*launch.before, python, *wrapper, "program", *launch.program)
    how, start = "script", _kind(command)[1]
    kept = list(launch.before[:start])
    for word in launch.before[start:]:
        name = word.replace("_", "-")
        if name in ("-m", "--module"):
            how = "module"
        elif name == "--no-python":
            how = "program"
        elif name != "--run-path":
            kept.append(word)
    return (*kept, *wrapper, how, *launch.program)


def _kind(command: Sequence[str]) -> tuple[str | None, int]:
    """Return which launcher it is and where its options begin."""
    name = PurePath(command[0]).name
    if name in _LAUNCHERS:
        return name, 1
    modules = [at for at in range(1, len(command) - 1) if command[at] == "-m" and command[at + 1] in _TORCH_MODULES]
    if is_python(name) and modules and all(word.startswith("-") for word in command[1 : modules[0]]):
        return "torchrun", modules[0] + 2
    return None, 0


def _width(words: Sequence[str], *, launcher: Launcher) -> int:
    """Return how many words the option in front takes."""
    if words[0] in launcher.flags:
        return 1
    if words[0] in launcher.pairs:
        return 3
    is_alone = len(words) < 2 or words[1].startswith("-") or launcher.is_program(words[1])  # noqa: PLR2004
    return 1 if is_alone and words[0] not in launcher.counts else 2
