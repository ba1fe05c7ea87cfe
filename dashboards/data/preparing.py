"""Prepares a profile: measures its reports, and writes what pages need into a folder, whole or not at all."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING

import msgspec

from dashboards.data.collective_columns import write_collectives
from dashboards.data.columns import ANALYSIS, MANIFEST
from dashboards.data.manifest import FORMAT, Manifest
from dashboards.data.writing import TraceWriter
from gapfinder import __version__
from gapfinder.analysis import join_traces, trace_report
from gapfinder.errors import InputError
from gapfinder.findings import explained
from gapfinder.load import load_profile

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gapfinder.analysis import MeasuredReport
    from gapfinder.analysis.traces import JoinedTraces
    from gapfinder.model import Analysis
    from gapfinder.settings import Settings

HOLES_IN_FULL = 200
"""How many holes of each lane, the longest, are kept with what was seen in them."""

_MEASURED = 0.9


def prepare_profile(
    files: Sequence[Path], *, folder: Path, settings: Settings, told: Callable[[str, float | None], None]
) -> None:
    """Measure `files` as one run and write its analysis and timeline to `folder`, which must not exist before.

    `told` hears what is being done and how far it is, from 0 to 1. A profile without GPU work is prepared as well:
    its analysis has no lanes, and its coverage says why.

    Raises:
        InputError, NsysError: a file cannot be used; one line for a reader.
    """
    if os.path.lexists(folder):
        raise InputError(f"{folder} exists; remove it before the profile is prepared anew")
    part = folder.with_name(f".{folder.name}-{os.urandom(8).hex()}.part")
    try:
        part.mkdir(mode=0o700)
        _prepare(files, part=part, settings=settings, told=told)
        _made_durable(part)
        part.rename(folder)
        _synced(folder.parent)
    except OSError as error:
        raise InputError(f"cannot write the prepared profile {folder}: {error.strerror or error}") from error
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _prepare(
    files: Sequence[Path], *, part: Path, settings: Settings, told: Callable[[str, float | None], None]
) -> None:
    in_full = replace(settings, top=max(settings.top, HOLES_IN_FULL))
    writer = TraceWriter(part)
    try:
        reports = _measured(files, writer=writer, settings=in_full, told=told)
        told("joining lanes and looking for causes", _MEASURED)
        joined = join_traces(reports, settings=in_full)
        lanes, first, last = writer.finish(joined)
    finally:
        writer.close()
    told("writing", None)
    (part / ANALYSIS).write_bytes(msgspec.json.encode(_explained(joined, settings=settings)))
    write_collectives(joined.collectives, folder=part)
    manifest = Manifest(
        format=FORMAT,
        gapfinder=__version__,
        sizes={file.name: file.stat().st_size for file in sorted(part.iterdir())},
        origin_ns=first,
        end_ns=last - first,
        domains=writer.domains,
        lanes=lanes,
        launching_threads=tuple(writer.launching_threads),
    )
    (part / MANIFEST).write_bytes(msgspec.json.encode(manifest))


def _measured(
    files: Sequence[Path], *, writer: TraceWriter, settings: Settings, told: Callable[[str, float | None], None]
) -> list[MeasuredReport]:
    """Measure one file after the other, so that only one is in memory."""
    reports = []
    for number, file in enumerate(files):
        told(
            f"measuring {file.name}" + f" ({number + 1} of {len(files)})" * (len(files) > 1),
            _MEASURED * number / len(files),
        )
        writer.begin_report()
        reports.append(trace_report(load_profile(file), settings=settings, keep=writer.keep))
    return reports


def _explained(joined: JoinedTraces, *, settings: Settings) -> Analysis:
    """Return the analysis with the findings that `gapfinder analyze` has, which keeps fewer holes."""
    analysis = joined.analysis
    lanes = [replace(lane, holes=replace(lane.holes, top=lane.holes.top[: settings.top])) for lane in analysis.lanes]
    found = explained(replace(analysis, lanes=tuple(lanes)))
    return replace(found, lanes=analysis.lanes)


def _made_durable(folder: Path) -> None:
    """Wait until everything in a folder is on the disk."""
    for file in folder.iterdir():
        _synced(file)
    _synced(folder)


def _synced(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
