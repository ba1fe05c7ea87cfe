"""A report that is too large for memory: what is kept of it whole, and the rest of it stretch by stretch.

Kernels and CUDA calls are what grows without end, so they are read in parts. A part holds every row that can matter in
its stretch of time, and may hold more: whoever measures inside the stretch gets what the whole report would give.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.load.btree import UnsupportedError
from gapfinder.load.kept_rows import ByName, KeptCalls, KeptKernels, Numbers, SleepingCalls, is_among
from gapfinder.load.limits import DEFAULT_LIMITS, Limits
from gapfinder.load.operations import read_calls, read_kernels
from gapfinder.load.places import UNTOLD_DEVICE, UNTOLD_PROCESS
from gapfinder.load.reading import Export, complete_profile
from gapfinder.load.runs import ROWS_PER_SAMPLE, Runs
from gapfinder.load.schema import KERNEL, RUNTIME
from gapfinder.tables import CALLS, KERNELS, PROCESS_MASK

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    import pandas as pd

    from gapfinder.load.btree import Bools, Integers
    from gapfinder.load.database import Database
    from gapfinder.load.places import Place
    from gapfinder.load.profile import Profile


_LIMITS = np.iinfo(np.int64)


@dataclass(frozen=True, kw_only=True, slots=True)
class Whole:
    """What the reader of a large report needs of it whole, and at once, by names.

    Attributes:
        kernels: kernels that are kept whole; no cut is inside of one.
        calls: CUDA calls that are kept whole.
        launches: CUDA calls that launch; a thread with any of them is looked at together with its process's others.
    """

    kernels: ByName
    calls: ByName
    launches: ByName


class LargeProfile:
    """A report of which most kernels and CUDA calls are still in the file.

    Attributes:
        profile: all the rest, with the kernels and calls that are kept whole.
    """

    def __init__(self, export: Export, *, profile: Profile, kernels: Runs, calls: Runs, cuttable: _Cuttable) -> None:
        self._export, self._kernels, self._calls, self._cuttable = export, kernels, calls, cuttable
        self.profile = profile
        self._kept_calls = profile.read_calls()

    @property
    def calls(self) -> int:
        """How many CUDA calls the report has."""
        return self._calls.rows

    def boundaries(self, rows: int) -> list[int]:
        """Return times, in order, between which about as many kernels and calls begin; ns."""
        starts = np.sort(np.concatenate([*self._kernels.sampled, *self._calls.sampled, np.empty(0, np.int64)]))
        step = max(rows // ROWS_PER_SAMPLE, 1)
        times: list[int] = np.unique(starts[step::step]).tolist()
        return times

    def cuts_from(self, time: int) -> dict[Place, int]:
        """Return of each lane the first instant after `time` at which a kernel runs that is not kept whole; ns.

        It is the second nanosecond of the earliest such kernel. Lanes without any are left out.
        """
        table = self._kernels
        found = {place: starts[table.starts >= time] for place, starts in self._cuttable.starts.items()}
        first = {place: int(starts.min()) for place, starts in found.items() if len(starts)}
        across = (table.starts < time) & (table.ends > time)
        with self._export.open() as database:
            for frame in table.frames(database, across):
                later = frame[frame["start"] >= time]
                for place, start in self._cuttable.earliest(later).items():
                    first[place] = min(start, first.get(place, start))
        return {place: start + 1 for place, start in first.items() if start < _LIMITS.max}

    def part(self, windows: Mapping[Place, tuple[int, int]], *, margin: int) -> Profile:
        """Return the report with all that matters of its lanes inside their windows [start, end).

        These are operations that have a part in the window; the calls that launched them; every call of the lane's
        process that has a part in the window or is less than `margin` ns away from it, or that began before the last
        of those launches; and the last call of each thread before all that.
        """
        windows = {place: window for place, window in windows.items() if window[0] < window[1]}
        with self._export.open() as database:
            kernels = self._kernels_in(database, windows)
            calls = self._calls_for(database, kernels, windows=windows, margin=margin)
        return replace(self.profile, kernels=kernels, read_calls=lambda: calls)

    def _kernels_in(self, database: Database, windows: Mapping[Place, tuple[int, int]]) -> pd.DataFrame:
        table = self._kernels
        frames = [
            frame[_meets(frame, _lane_keys(frame), {_lane_key(place): window for place, window in windows.items()})]
            for frame in table.frames(database, _runs_in(table, windows.values()))
        ]
        return table.joined([self.profile.kernels, *frames], empty=KERNELS.empty())

    def _calls_for(
        self, database: Database, kernels: pd.DataFrame, *, windows: Mapping[Place, tuple[int, int]], margin: int
    ) -> pd.DataFrame:
        spans = _spans_by_process(windows, margin=margin)
        profile = self.profile
        launched = Numbers.of(kernels[~kernels.index.isin(profile.kernels.index)])
        known = Numbers.of(*(_inside(frame, windows) for frame in (profile.kernels, profile.copies, profile.graphs)))
        calls = self._read_calls(database, spans, launched=launched)
        _, ends = _edges(calls["thread"].to_numpy() & PROCESS_MASK, spans)
        late = calls[(calls["start"].to_numpy() >= ends) & (ends > _LIMITS.min)]
        late = late[is_among(late, launched) | is_among(late, known)]
        if late.empty:
            return calls
        latest = late.groupby(late["thread"] & PROCESS_MASK)["start"].max()
        for process, last in zip(latest.index.tolist(), latest.tolist(), strict=True):
            start, end = spans[process]
            spans[process] = start, max(end, last + 1)
        return self._read_calls(database, spans, launched=launched)

    def _read_calls(
        self, database: Database, spans: Mapping[int, tuple[int, int]], *, launched: Numbers
    ) -> pd.DataFrame:
        table = self._calls
        which = _runs_in(table, spans.values())
        if launched.first <= launched.last:
            which |= (table.lowest <= launched.last) & (table.highest >= launched.first)
        frames = [self._kept_calls]
        for frame in table.frames(database, which):
            processes = frame["thread"].to_numpy() & PROCESS_MASK
            keep = _meets(frame, processes, spans) | _last_before(frame, processes, spans)
            rest = np.flatnonzero(~keep)
            keep[rest] = is_among(frame.iloc[rest], launched)
            frames.append(frame[keep])
        return table.joined(frames, empty=CALLS.empty())


def open_large(path: Path, *, whole: Whole, limits: Limits = DEFAULT_LIMITS) -> LargeProfile | None:
    """Open a report for reading it in parts; None where it can only be read whole.

    That is so where a table is not stored as nsys writes it, or where operations do not all tell their lane. Raises
    what `load_profile` does.
    """
    export = Export(path, limits)
    try:
        return _opened(export, whole=whole)
    except UnsupportedError:
        return None


def _opened(export: Export, *, whole: Whole) -> LargeProfile | None:
    with export.open() as database:
        calls = Runs.of(database, RUNTIME, read=read_calls)
        kernels = Runs.of(database, KERNEL, read=read_kernels)
        kept_calls, kept, cuttable = _kept(database, calls=calls, kernels=kernels, whole=whole)
    rows = kept.frame()
    if UNTOLD_PROCESS in rows["process"].to_numpy() or UNTOLD_DEVICE in rows["device"].to_numpy():
        return None
    with export.open() as database:  # again, for all that SQLite reads has one deadline
        profile, is_filled = complete_profile(export, database, kernels=rows)
    if is_filled:
        return None
    numbers = Numbers.of(profile.kernels, profile.copies, profile.graphs)
    os_calls = SleepingCalls(profile.read_os_calls(), launching=kept_calls.launching)
    with export.open() as database:
        for frame in calls.frames(database, np.full(len(calls), fill_value=True)):
            kept_calls.add_numbered(frame, numbers)
            os_calls.add(frame)
    known, sleeps = kept_calls.frame(), os_calls.frame()
    profile = replace(profile, read_calls=lambda: known, read_os_calls=lambda: sleeps)
    return LargeProfile(export, profile=profile, kernels=kernels, calls=calls, cuttable=cuttable)


def _kept(database: Database, *, calls: Runs, kernels: Runs, whole: Whole) -> tuple[KeptCalls, KeptKernels, _Cuttable]:
    """Go through all calls, then through all kernels."""
    kept_calls = KeptCalls(calls)
    for _, frame in calls.scan(database):
        kept_calls.add(frame, whole=whole.calls, launches=whole.launches)
    kept, cuttable = KeptKernels(kernels, launched_by=kept_calls.numbers()), _Cuttable(kernels, whole.kernels)
    for number, frame in kernels.scan(database):
        kept.add(frame, whole=whole.kernels)
        cuttable.add(number, frame)
    return kept_calls, kept, cuttable


class _Cuttable:
    """When the kernels of each lane begin that a cut may be inside of: one is not kept whole and takes 2 ns or more.

    Attributes:
        starts: the earliest of them in each run, by lane; the largest int64 where there is none; shape (runs,), ns.
    """

    def __init__(self, runs: Runs, whole: ByName) -> None:
        self.starts: dict[Place, Integers] = {}
        self._runs, self._whole = len(runs), whole

    def add(self, number: int, frame: pd.DataFrame) -> None:
        """Look at a run of kernels."""
        for place, start in self.earliest(frame).items():
            self.starts.setdefault(place, np.full(self._runs, _LIMITS.max, np.int64))[number] = start

    def earliest(self, frame: pd.DataFrame) -> dict[Place, int]:
        """Return when the earliest of them begins, by lane."""
        is_whole = np.array(self._whole(frame["name"].cat.categories), np.bool_)[frame["name"].cat.codes]
        starts = frame["start"].to_numpy()
        rows = np.flatnonzero(~is_whole & (frame["end"].to_numpy() >= starts + 2))
        keys, codes = np.unique(_lane_keys(frame)[rows], return_inverse=True)
        first = np.full(len(keys), _LIMITS.max, np.int64)
        np.minimum.at(first, codes, starts[rows])
        return {_place(key): start for key, start in zip(keys.tolist(), first.tolist(), strict=True)}


def _lane_key(place: Place) -> int:
    """Return one number for a process and a device: a process key leaves its lower 24 bits free."""
    return place[0] | (place[1] + 1)


def _place(key: int) -> Place:
    return key & PROCESS_MASK, (key & ~PROCESS_MASK) - 1


def _lane_keys(frame: pd.DataFrame) -> Integers:
    keys: Integers = frame["process"].to_numpy() | (frame["device"].to_numpy() + 1)
    return keys


def _runs_in(table: Runs, spans: Iterable[tuple[int, int]]) -> Bools:
    """Say which runs may have an event in one of the spans; shape (runs,)."""
    which = np.zeros(len(table), np.bool_)
    for start, end in spans:
        which |= (table.starts < end) & (table.ends >= start)
    return which


def _meets(frame: pd.DataFrame, keys: Integers, spans: Mapping[int, tuple[int, int]]) -> Bools:
    """Say which events have a part in the span of their key, or touch its start; those of other keys do not."""
    starts, ends = _edges(keys, spans)
    begins, returns = frame["start"].to_numpy(), frame["end"].to_numpy()
    meets: Bools = (begins < ends) & (np.maximum(begins, returns) >= starts)
    return meets


def _last_before(frame: pd.DataFrame, keys: Integers, spans: Mapping[int, tuple[int, int]]) -> Bools:
    """Say which is the last event of each thread that begins before the span of its key."""
    last = np.zeros(len(frame), np.bool_)
    starts, _ = _edges(keys, spans)
    earlier = np.flatnonzero(frame["start"].to_numpy() < starts)
    begins = frame["start"].iloc[earlier].reset_index(drop=True)
    last[earlier[begins.groupby(frame["thread"].to_numpy()[earlier]).idxmax().to_numpy()]] = True
    return last


def _edges(keys: Integers, spans: Mapping[int, tuple[int, int]]) -> tuple[Integers, Integers]:
    """Return start and end of the span of each key; an empty one for keys without; shape (keys,), ns."""
    known = np.array(sorted(spans), np.int64)
    edges = np.array([*(spans[key] for key in known.tolist()), (_LIMITS.max, _LIMITS.min)], np.int64)
    places = np.searchsorted(known, keys)
    places[np.append(known, _LIMITS.max)[places] != keys] = len(known)
    return edges[places, 0], edges[places, 1]


def _spans_by_process(windows: Mapping[Place, tuple[int, int]], *, margin: int) -> dict[int, tuple[int, int]]:
    """Return what the windows of each process span, and `margin` ns on both sides."""
    spans: dict[int, tuple[int, int]] = {}
    for (process, _), (start, end) in windows.items():
        first, last = spans.get(process, (_LIMITS.max, _LIMITS.min))
        spans[process] = (
            min(first, max(start - margin, _LIMITS.min)),
            max(last, min(end + margin, _LIMITS.max)),
        )
    return spans


def _inside(operations: pd.DataFrame, windows: Mapping[Place, tuple[int, int]]) -> pd.DataFrame:
    spans = {_lane_key(place): window for place, window in windows.items()}
    return operations[_meets(operations, _lane_keys(operations), spans)]
