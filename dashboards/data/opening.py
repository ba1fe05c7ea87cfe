"""Opens prepared profiles, and keeps the few that were used last."""

from __future__ import annotations

import gc
from collections import OrderedDict
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING

from dashboards.data.collective_columns import read_collectives
from dashboards.data.columns import ANALYSIS, ColumnReader, File
from dashboards.data.manifest import Manifest, PlacedLane, decoded, read_bytes, read_manifest
from dashboards.data.names import Names
from dashboards.data.trace import Busy, Clock, Events, Holes, Kind, LaneTrace, Operations, ProcessTrace, Steps, Trace
from gapfinder.errors import InputError
from gapfinder.model import Analysis

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dashboards.store.records import StoredProfile

_KEPT = 8


@dataclass(frozen=True, slots=True, eq=False)
class OpenProfile:
    """A profile that can be shown: what was measured, and its timeline."""

    stored: StoredProfile
    analysis: Analysis
    trace: Trace


class OpenProfiles:
    """Open profiles by id; any thread may ask."""

    def __init__(self, open_profile: Callable[[str], OpenProfile]) -> None:
        self._open_profile = open_profile
        self._opened: OrderedDict[str, OpenProfile] = OrderedDict()
        self._lock = Lock()

    def get(self, profile: str) -> OpenProfile:
        """Return a profile; InputError, for a reader, where it is unknown, not ready or cannot be read."""
        with self._lock:
            if profile not in self._opened:
                self._opened[profile] = self._open_profile(profile)
                while len(self._opened) > _KEPT:
                    self._opened.popitem(last=False)
            self._opened.move_to_end(profile)
            return self._opened[profile]

    def forget(self, profile: str) -> None:
        """Close a profile that is gone or was prepared anew."""
        with self._lock:
            self._opened.pop(profile, None)


def open_prepared(stored: StoredProfile) -> OpenProfile:
    """Open a profile that was prepared; its columns stay in their files, which nothing may change from now on.

    Raises:
        InputError: it is not prepared, or by another version, or a file of it is damaged; one line for a reader.
    """
    if not stored.is_ready:
        raise InputError(f"{stored.name} is not prepared yet")
    manifest = read_manifest(stored.folder)
    with _uncollected():
        analysis = decoded(read_bytes(stored.folder, ANALYSIS), kind=Analysis, name=ANALYSIS)
    return OpenProfile(stored, analysis, _trace(stored.folder, manifest))


@contextmanager
def _uncollected() -> Iterator[None]:
    """Do without the collector while much is made that stays: it would look through all of it again and again.

    Decoding an analysis of 17 MB takes 0.18 s of processor time without it, 0.25 s to 0.7 s with it.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def _trace(folder: Path, manifest: Manifest) -> Trace:
    readers = {file: ColumnReader(folder, file) for file in File}
    return Trace(
        origin_ns=manifest.origin_ns,
        end_ns=manifest.end_ns,
        names=Names(readers[File.NAMES].texts()),
        domains=manifest.domains,
        lanes=tuple(_lane(readers, place, lane) for place, lane in enumerate(manifest.lanes)),
        processes=tuple(_process(readers, place, thread) for place, thread in enumerate(manifest.launching_threads)),
        collectives=read_collectives(folder),
    )


def _lane(readers: dict[File, ColumnReader], place: int, lane: PlacedLane) -> LaneTrace:
    operations, busy = len(Kind) * lane.written, (len(Kind) + 1) * lane.written
    return LaneTrace(
        operations={kind: Operations(*readers[File.OPERATIONS].batch(operations + kind)) for kind in Kind},
        busy={kind: Busy(*readers[File.BUSY].batch(busy + kind)) for kind in Kind},
        any_busy=Busy(*readers[File.BUSY].batch(busy + len(Kind))),
        holes=Holes(*readers[File.HOLES].batch(place)),
        steps=Steps(*readers[File.STEPS].batch(lane.written)),
        clock=Clock(lane.clock.offset_ns, lane.clock.drift_ppm, lane.clock.at_ns),
        process=lane.process,
    )


def _process(readers: dict[File, ColumnReader], place: int, thread: int | None) -> ProcessTrace:
    return ProcessTrace(
        ranges=Events(*readers[File.RANGES].batch(place)),
        calls=Events(*readers[File.CALLS].batch(place)),
        launching_thread=thread,
        called=Busy(*readers[File.CALLED].batch(place)),
    )
