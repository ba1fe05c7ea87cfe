"""Exports a report to SQLite once, into the cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.capture.nsys import Nsys, find_nsys, version_key
from gapfinder.errors import InputError, NsysError
from gapfinder.export.cache import cached, content_key
from gapfinder.export.nsys import export_sqlite, import_stream
from gapfinder.export.report_version import REPORT_MAGIC, report_version

if TYPE_CHECKING:
    from pathlib import Path

REPORT_SUFFIXES = (".nsys-rep", ".qdrep", ".qdstrm")
"""The file names that nsys gives to its reports; the last one to a capture it did not finish."""

_SQLITE_MAGIC = b"SQLite format 3\0"
_LFS_MAGIC = b"version https://git-lfs"


def export_report(path: Path, *, nsys: Nsys | None = None) -> Path:
    """Return the SQLite export of a report, by `nsys` (by the one found) or from the cache: same content and version.

    The report's folder is never written to. Raises InputError for what is no report, NsysError where nsys fails.
    """
    _refuse_other_files(path)
    nsys = nsys or _exporter(path)
    key = content_key(path)

    def make(scratch: Path) -> Path:
        report = path
        if path.suffix == ".qdstrm":
            report = scratch / "report.nsys-rep"
            import_stream(nsys, path, output=report)
        output = scratch / "export.sqlite"
        _refuse_newer(report, nsys=nsys, named=path)
        export_sqlite(nsys, report, output=output, named=path)
        _check_database(output, report=path)
        if content_key(path) != key:
            raise InputError(f"{path} changed while it was exported; wait until the run that writes it has ended")
        return output

    return cached(f"{key}-{nsys.version}.sqlite", make=make)


def _exporter(report: Path) -> Nsys:
    try:
        return find_nsys()
    except NsysError as error:
        raise NsysError(f"{error}; or export {report} where nsys is, with `nsys export --type=sqlite`") from error


def _refuse_other_files(path: Path) -> None:
    try:
        # a pipe that nobody writes to would be waited for without end
        if path.exists() and not (path.is_file() or path.is_dir()):
            raise InputError(f"{path} is not a regular file; name a report")
        with path.open("rb") as file:
            start = file.read(len(REPORT_MAGIC))
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    if not start:
        raise InputError(f"{path} is empty; the run that wrote it was cut short")
    if start.startswith(_LFS_MAGIC):
        raise InputError(f"{path} is a Git LFS pointer, not the report itself; fetch it with `git lfs pull`")
    if path.suffix not in REPORT_SUFFIXES and start != REPORT_MAGIC:
        raise InputError(f"{path} is not a report of nsys; its name must end in {', '.join(REPORT_SUFFIXES)}")


def _refuse_newer(report: Path, *, nsys: Nsys, named: Path) -> None:
    """Refuse what this nsys would read in part: 2022.4.2 exports a report marked 2026.4.2 with exit code 0."""
    written_by = report_version(report)
    if written_by is not None and version_key(written_by) > version_key(nsys.version):
        raise NsysError(
            f"{named} was written by nsys {written_by}, newer than the nsys {nsys.version} at {nsys.path}; install "
            f"{written_by} or newer here, or export it there with `nsys export --type=sqlite`"
        )


def _check_database(path: Path, *, report: Path) -> None:
    """Refuse half an export: the header of a SQLite file tells its length (bytes 16 and 28, big-endian)."""
    with path.open("rb") as file:
        header = file.read(100)
    page_size = int.from_bytes(header[16:18], "big")
    whole = (65536 if page_size == 1 else page_size) * int.from_bytes(header[28:32], "big")
    if not header.startswith(_SQLITE_MAGIC) or path.stat().st_size < whole:
        raise NsysError(f"nsys left half an export of {report}; is the disk of the cache folder full?")
