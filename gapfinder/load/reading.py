"""Loads one report: checks it, unpacks or exports it when needed, and reads its frames."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gapfinder.errors import InputError
from gapfinder.export import export_report
from gapfinder.load.about import read_about
from gapfinder.load.checks import Content, check_database, file_state, judge_content
from gapfinder.load.clocks import read_clocks
from gapfinder.load.database import Database
from gapfinder.load.devices import read_devices
from gapfinder.load.host import read_os_calls, read_overheads
from gapfinder.load.limits import DEFAULT_LIMITS, Limits
from gapfinder.load.names import UNNAMED
from gapfinder.load.nvtx import read_nvtx
from gapfinder.load.operations import read_calls, read_copies, read_graphs, read_kernels
from gapfinder.load.payloads import read_payloads
from gapfinder.load.places import find_places, place
from gapfinder.load.profile import Profile
from gapfinder.load.schema import GPU_METRICS, NVTX, OS_CALLS, RUNTIME, TABLES
from gapfinder.load.unpack import Unpacked
from gapfinder.tables import CALLS, CLOCKS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pandas as pd


class Export:
    """A checked database; keeps what was unpacked for as long as somebody may read from it.

    Attributes:
        named: the file as the user named it.
        limits: bounds on it.
    """

    def __init__(self, path: Path, limits: Limits) -> None:
        self.named, self.limits = path, limits
        self._name = path.name
        self._unpacked: Unpacked | None = None
        file_state(path)
        content = judge_content(path)
        if content is Content.REPORT:
            path = export_report(path)
        elif content in (Content.GZIP, Content.ZSTD):
            self._unpacked = Unpacked(path, content=content, limits=limits)
            path = self._unpacked.path
        if judge_content(path) is not Content.SQLITE:
            raise InputError(f"{self._name}: holds no SQLite database; expected an export of nsys")
        self._path = path
        self._state = file_state(path)

    def open(self, *, tables: Sequence[str] = TABLES) -> Database:
        """Open the database for reading these tables, if it still is the one that was checked."""
        if file_state(self._path) != self._state:
            raise InputError(f"{self._name}: changed while it was being read; load it again")
        file = check_database(self._path, limits=self.limits)
        return Database(file, name=self._name, limits=self.limits, tables=tables)

    def read_calls(self) -> pd.DataFrame:
        """Return the frame CALLS."""
        with self.open() as database:
            return read_calls(database)

    def read_os_calls(self) -> pd.DataFrame:
        """Return the frame OS_CALLS."""
        with self.open() as database:
            return read_os_calls(database)

    def read_overheads(self) -> pd.DataFrame:
        """Return the frame OVERHEADS."""
        with self.open() as database:
            return read_overheads(database)

    def read_clocks(self) -> pd.DataFrame:
        """Return the frame CLOCKS."""
        with self.open() as database:
            return read_clocks(database)

    def read_payloads(self) -> tuple[pd.DataFrame, int]:
        """Return the frame PAYLOADS, and how many payloads could not be decoded."""
        with self.open() as database:
            return read_payloads(database)


def load_profile(path: Path, *, limits: Limits = DEFAULT_LIMITS) -> Profile:
    """Load a report: an export (plain, gzip or zstd), or an nsys report, which is exported first.

    The file is never written to, and whatever is in it, nothing but InputError or NsysError comes out.
    """
    export = Export(path, limits)
    with export.open() as database:
        return complete_profile(export, database, kernels=read_kernels(database))[0]


def complete_profile(export: Export, database: Database, *, kernels: pd.DataFrame) -> tuple[Profile, bool]:
    """Return the report of which these are the kernels, and whether rows were given a process or device untold."""
    path, limits = export.named, export.limits
    about = read_about(database)
    operations, place_notes = place(
        {"kernels": kernels, "copies": read_copies(database), "graphs": read_graphs(database)}, name=path.name
    )
    places = find_places(operations.values())
    if len(places) > limits.max_lanes:
        raise InputError(
            f"{path.name}: has {len(places):,} (process, device) pairs, at most {limits.max_lanes:,} can be"
        )
    ranges, marks = read_nvtx(database, capture_end=about.capture_end_ns)
    profile = Profile(
        path=path,
        nsys_version=about.nsys_version,
        export_schema_version=about.export_schema_version,
        capture_end_ns=about.capture_end_ns,
        start_utc_ns=about.start_utc_ns,
        has_nvtx=database.has_rows(NVTX),
        has_calls=database.has_rows(RUNTIME),
        has_os_calls=database.has_rows(OS_CALLS),
        has_kernel_names=operations["kernels"]["name"].cat.categories.tolist() != [UNNAMED],
        kernels=operations["kernels"],
        copies=operations["copies"],
        graphs=operations["graphs"],
        ranges=ranges,
        marks=marks,
        devices=read_devices(database, places),
        read_calls=export.read_calls if database.has_rows(RUNTIME) else CALLS.empty,
        read_os_calls=export.read_os_calls,
        read_overheads=export.read_overheads,
        read_clocks=export.read_clocks if database.has_rows(GPU_METRICS) else CLOCKS.empty,
        read_payloads=export.read_payloads,
    )
    told = [about.warnings] if about.warnings else []
    slow = [f"{table} was read row by row ({reason})" for table, reason in sorted(database.slow_tables.items())]
    return replace(profile, notes=(*told, *_missing(profile), *place_notes, *slow)), bool(place_notes)


def _missing(profile: Profile) -> list[str]:
    """Say in sentences what was not captured."""
    missing = []
    if not profile.has_nvtx:
        missing.append("no NVTX events were captured")
    if not profile.has_calls:
        missing.append("no CUDA API calls were captured")
    if not profile.has_kernel_names:
        missing.append("kernel names were not captured, so communication cannot be told from compute")
    return missing
