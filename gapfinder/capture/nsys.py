"""Finds the nsys program and asks it what it is: its version, and the options it knows."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from dataclasses import dataclass
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.errors import NsysError

if TYPE_CHECKING:
    from collections.abc import Iterator

ENVIRONMENT_NAME = "GAPFINDER_NSYS"
_USUAL_PLACES = (
    "/opt/nvidia/nsight-systems*/*/bin/nsys",
    "/opt/nvidia/nsight-systems*/bin/nsys",
    "/opt/nvidia/nsight-systems*/*/target-linux-*/nsys",
    "/usr/local/cuda*/bin/nsys",
    "/usr/local/cuda*/nsight-systems*/bin/nsys",
    "/usr/lib/*/nsight-systems/target-linux-*/nsys",
)
_ROOTS = ("/opt/nvidia", "/usr/local/cuda*", "/usr/lib/*/nsight-systems")  # of these places, for people
_ANSWER_SECONDS = 60
_LONGEST_MESSAGE = 300
_VERSION = re.compile(r"\b(\d{4}(?:\.\d+){2,3})\b")
_OPTION = re.compile(r"^\s+(?:-\w, )?(--[a-z][a-z0-9-]*)", re.MULTILINE)

# What nsys 2022 prints on a failure, most telling first; the rest is a C++ location and a type.
_TELLING = (r"tag_message\*\] = (.+)", r"std::exception::what: (.+)", r"(?s)error: (.+)")


@dataclass(frozen=True, kw_only=True, slots=True)
class Nsys:
    """An nsys program that answered.

    Attributes:
        version: such as "2022.4.2.1".
    """

    path: Path
    version: str


def find_nsys(named: str | None = None) -> Nsys:
    """Return the nsys that is named, else the one in GAPFINDER_NSYS, else the newest on PATH and in the usual folders.

    Raises NsysError where there is none, or where the one that is named does not answer.
    """
    source = "--nsys" if named else ENVIRONMENT_NAME
    named = named or os.environ.get(ENVIRONMENT_NAME)
    if named:
        found = shutil.which(named)
        if found is None:
            raise NsysError(f"{source} is {named!r}, which is not a program; correct it or leave it out")
        return _ask(Path(found))
    answers: list[Nsys] = []
    failures: list[str] = []
    for path in _candidates():
        try:
            answers.append(_ask(path))
        except NsysError as error:
            failures.append(str(error))
    if answers:
        return max(answers, key=lambda nsys: version_key(nsys.version))
    if failures:
        raise NsysError("; ".join(failures))
    raise NsysError(
        f"nsys not found on PATH nor below {', '.join(_ROOTS)}; install NVIDIA Nsight Systems "
        f"(https://developer.nvidia.com/nsight-systems), or set {ENVIRONMENT_NAME} to its nsys"
    )


def profile_options(nsys: Nsys) -> frozenset[str]:
    """Return the long options of `nsys profile`, as its own help lists them."""
    return known_options(nsys, command="profile", expected="--output")


def known_options(nsys: Nsys, *, command: str, expected: str) -> frozenset[str]:
    """Return the long options of a command of nsys, as its own help lists them; NsysError without the expected one."""
    done = _answer(nsys.path, command, "--help")
    options = frozenset(_OPTION.findall(done.stdout.decode(errors="replace")))
    if expected not in options:
        raise NsysError(f"{nsys.path} {command} --help lists no options: {told(done)} (exit code {done.returncode})")
    return options


def version_key(version: str) -> tuple[int, ...]:
    """Return a version in an order that compares: "2022.10.1" comes after "2022.4.2.1"."""
    return tuple(int(part) for part in version.split("."))


def told(done: subprocess.CompletedProcess[bytes]) -> str:
    """Return in one line what a program of nsys said, without the C++ around it."""
    text = (done.stderr.strip() or done.stdout.strip()).decode(errors="replace")
    matches = (re.search(pattern, text) for pattern in _TELLING)
    telling = next((match[1] for match in matches if match and "Throw in function" not in match[1]), text)
    words = " ".join("".join(c if c.isprintable() else " " for c in telling).split())
    return words[:_LONGEST_MESSAGE].rstrip(".") or "it said nothing"


def _candidates() -> Iterator[Path]:
    on_path = (Path(folder or ".") / "nsys" for folder in os.get_exec_path())
    usual = (Path(found) for pattern in _USUAL_PLACES for found in sorted(glob(pattern)))  # noqa: PTH207
    seen: set[Path] = set()
    for path in (*on_path, *usual):
        # access first: it answers no, where the others raise, for a folder that is closed, gone or not one
        if os.access(path, os.X_OK) and path.is_file() and (real := path.resolve()) not in seen:
            seen.add(real)
            yield path


def _ask(path: Path) -> Nsys:
    done = _answer(path, "--version")
    match = _VERSION.search(done.stdout.decode(errors="replace"))
    if done.returncode or match is None:
        raise NsysError(f"{path} --version told no version: {told(done)} (exit code {done.returncode})")
    return Nsys(path=path, version=match[1])


def _answer(path: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    try:
        return subprocess.run(  # noqa: S603
            (path, *arguments), stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_ANSWER_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise NsysError(f"{path} {' '.join(arguments)} gave no answer within {_ANSWER_SECONDS} s") from error
    except OSError as error:
        raise NsysError(f"{path} cannot be run: {error.strerror}") from error
