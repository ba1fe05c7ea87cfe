"""Finds the nsys program and runs it."""

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
    "/usr/local/cuda*/bin/nsys",
)
_VERSION_SECONDS = 60
_LONGEST_MESSAGE = 300
_VERSION = re.compile(r"\b(\d{4}(?:\.\d+){2,3})\b")

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

    def export_sqlite(self, report: Path, *, output: Path, named: Path) -> None:
        """Write the export of `report`, called `named` in errors, to `output`; half an export may stay behind."""
        options = ("--type=sqlite", "--quiet=true", "--force-overwrite=true", f"--output={output.absolute()}")
        _run((self.path, "export", *options, report.absolute()), named=named, output=output)

    def import_stream(self, stream: Path, *, output: Path) -> None:
        """Turn a .qdstrm that nsys could not finish into a report, with a copy of it beside `output`."""
        importer = self.importer()
        if importer is None:
            raise NsysError(
                f"{stream} is a capture that nsys never turned into a report, and no QdstrmImporter lies beside "
                f"{self.path}; install the full Nsight Systems, or convert it where it was captured"
            )
        # The importer of nsys 2022.4.2 writes into the capture that it reads.
        copy = output.with_suffix(stream.suffix).absolute()
        shutil.copyfile(stream, copy)
        options = (f"--input-file={copy}", f"--output-file={output.absolute()}")
        _run((importer, *options), named=stream, output=output)

    def importer(self) -> Path | None:
        """Return the QdstrmImporter beside nsys; None where there is none."""
        target = self.path.resolve().parent
        places = (target, target.parent / "host-linux-x64", target.parent / "host-linux-armv8")
        found = shutil.which("QdstrmImporter", path=os.pathsep.join(map(str, places)))
        return None if found is None else Path(found)


def find_nsys() -> Nsys:
    """Return the nsys that GAPFINDER_NSYS names, else the newest on PATH and in the usual folders."""
    named = os.environ.get(ENVIRONMENT_NAME)
    if named:
        found = shutil.which(named)
        if found is None:
            raise NsysError(f"{ENVIRONMENT_NAME} is {named!r}, which is not a program; correct it or unset it")
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
        f"nsys not found on PATH nor in {', '.join(_USUAL_PLACES)}; install NVIDIA Nsight Systems, set "
        f"{ENVIRONMENT_NAME} to its nsys, or export the report elsewhere with `nsys export --type=sqlite`"
    )


def version_key(version: str) -> tuple[int, ...]:
    """Return a version in an order that compares: "2022.10.1" comes after "2022.4.2.1"."""
    return tuple(int(part) for part in version.split("."))


def _run(command: tuple[str | Path, ...], *, named: Path, output: Path) -> None:
    """Run one of nsys's programs; raise with its own words when it fails or leaves no `output`."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603
    except OSError as error:
        raise NsysError(f"{command[0]} cannot be run: {error.strerror}") from error
    # nsys 2022.4.2 leaves an empty file and returns 0 when the disk is full.
    if done.returncode or not output.is_file() or not output.stat().st_size:
        raise NsysError(f"{name} failed on {named}: {_words(done)} (exit code {done.returncode})")


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
    command = (path, "--version")
    try:
        done = subprocess.run(  # noqa: S603
            command, stdin=subprocess.DEVNULL, capture_output=True, check=False, timeout=_VERSION_SECONDS
        )
    except subprocess.TimeoutExpired as error:
        raise NsysError(f"{path} --version gave no answer within {_VERSION_SECONDS} s") from error
    except OSError as error:
        raise NsysError(f"{path} cannot be run: {error.strerror}") from error
    match = _VERSION.search(done.stdout.decode(errors="replace"))
    if done.returncode or match is None:
        raise NsysError(f"{path} --version told no version: {_words(done)} (exit code {done.returncode})")
    return Nsys(path=path, version=match[1])


def _words(done: subprocess.CompletedProcess[bytes]) -> str:
    text = (done.stderr.strip() or done.stdout.strip()).decode(errors="replace")
    matches = (re.search(pattern, text) for pattern in _TELLING)
    telling = next((match[1] for match in matches if match and "Throw in function" not in match[1]), text)
    words = " ".join("".join(c if c.isprintable() else " " for c in telling).split())
    return words[:_LONGEST_MESSAGE].rstrip(".") or "it said nothing"
