"""Runs nsys on its own reports: exports them, and finishes captures that it left unfinished."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.capture.nsys import told
from gapfinder.errors import NsysError

if TYPE_CHECKING:
    from gapfinder.capture.nsys import Nsys


def export_sqlite(nsys: Nsys, report: Path, *, output: Path, named: Path) -> None:
    """Write the export of `report`, called `named` in errors, to `output`; half an export may stay behind."""
    options = ("--type=sqlite", "--quiet=true", "--force-overwrite=true", f"--output={output.absolute()}")
    _run((nsys.path, "export", *options, report.absolute()), named=named, output=output)


def import_stream(nsys: Nsys, stream: Path, *, output: Path) -> None:
    """Turn a .qdstrm that nsys could not finish into a report, with a copy of it beside `output`."""
    importer = find_importer(nsys)
    if importer is None:
        raise NsysError(
            f"{stream} is a capture that nsys never turned into a report, and no QdstrmImporter lies beside "
            f"{nsys.path}; install the full Nsight Systems, or convert it where it was captured"
        )
    # The importer of nsys 2022.4.2 writes into the capture that it reads.
    copy = output.with_suffix(stream.suffix).absolute()
    shutil.copyfile(stream, copy)
    options = (f"--input-file={copy}", f"--output-file={output.absolute()}")
    _run((importer, *options), named=stream, output=output)


def find_importer(nsys: Nsys) -> Path | None:
    """Return the QdstrmImporter beside nsys; None where there is none."""
    target = nsys.path.resolve().parent
    places = (target, target.parent / "host-linux-x64", target.parent / "host-linux-armv8")
    found = shutil.which("QdstrmImporter", path=os.pathsep.join(map(str, places)))
    return None if found is None else Path(found)


def _run(command: tuple[str | Path, ...], *, named: Path, output: Path) -> None:
    """Run one of nsys's programs; raise with its own words when it fails or leaves no `output`."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)  # noqa: S603
    except OSError as error:
        raise NsysError(f"{command[0]} cannot be run: {error.strerror}") from error
    # nsys 2022.4.2 leaves an empty file and returns 0 when the disk is full.
    if done.returncode or not output.is_file() or not output.stat().st_size:
        raise NsysError(f"{name} failed on {named}: {told(done)} (exit code {done.returncode})")
