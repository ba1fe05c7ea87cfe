"""Finds the way around a timeline: the next hole, a step by its number, names by a part of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dashboards.data.lookups import LaneLookup
from dashboards.data.rows import OPERATIONS, Row
from gapfinder.explanations import Cause

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from dashboards.data.detail_values import Timed
    from dashboards.data.trace import Holes, Int32s, Int64s, Trace

    Bools = NDArray[np.bool_]

_CODES = {cause: code for code, cause in enumerate(Cause)}


@dataclass(frozen=True, kw_only=True, slots=True)
class HoleFilter:
    """Which holes are looked at: of these lanes and, where given, of these causes; at least this long."""

    lanes: tuple[int, ...]
    causes: tuple[Cause, ...] = ()
    min_hole_ns: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class FoundHole:
    """Where a hole is, in ns since the profile's origin."""

    lane: int
    hole: int
    start_ns: int
    end_ns: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Occurrence:
    """A mark that can be chosen on the timeline."""

    lane: int
    row: Row
    op: int
    time: Timed


@dataclass(frozen=True, kw_only=True, slots=True)
class NameSearch:
    """What a search found.

    Attributes:
        names: how many names contain the text.
        count: how many marks have one of them.
        longest: of these.
        following: the first that starts after the moment it was asked from, else the first of all.
    """

    names: int
    count: int
    longest: Occurrence | None
    following: Occurrence | None


def next_hole(trace: Trace, *, after_ns: int, wanted: HoleFilter) -> FoundHole | None:
    """Return the first hole that starts after a moment; None where there is none."""
    found = []
    for lane in wanted.lanes:
        holes, own = trace.lanes[lane].holes, _own(trace, lane, after_ns)
        first = int(holes.starts.searchsorted(own, side="right"))
        places = np.flatnonzero(_passing(holes, slice(first, None), wanted))
        found += [_found(trace, lane, first + int(place)) for place in places[:1]]
    return min(found, key=lambda one: (one.start_ns, one.lane), default=None)


def previous_hole(trace: Trace, *, before_ns: int, wanted: HoleFilter) -> FoundHole | None:
    """Return the last hole that starts before a moment; None where there is none."""
    found = []
    for lane in wanted.lanes:
        holes, own = trace.lanes[lane].holes, _own(trace, lane, before_ns)
        places = np.flatnonzero(_passing(holes, slice(0, int(holes.starts.searchsorted(own))), wanted))
        found += [_found(trace, lane, int(place)) for place in places[-1:]]
    return max(found, key=lambda one: (one.start_ns, -one.lane), default=None)


def step_window(trace: Trace, number: int, *, lanes: Sequence[int]) -> tuple[int, int] | None:
    """Return from the first start to the last end of a step over some lanes, since the origin; None without one."""
    edges = []
    for lane in lanes:
        steps, clock = trace.lanes[lane].steps, trace.lanes[lane].clock
        places = np.flatnonzero(steps.numbers == number)
        edges += [(clock.shared(int(steps.starts[at])), clock.shared(int(steps.ends[at]))) for at in places.tolist()]
    if not edges:
        return None
    return min(start for start, _ in edges) - trace.origin_ns, max(end for _, end in edges) - trace.origin_ns


def search_names(trace: Trace, text: str, *, after_ns: int, lanes: Sequence[int]) -> NameSearch:
    """Look for operations, ranges and calls whose name contains a text, whatever its case.

    Every name is read once and every mark compared by the code of its name, so that the time depends on the profile
    alone, not on the text. Of ranges and calls those are searched that the timeline shows.
    """
    matches = trace.names.containing(text)
    count = 0
    found: list[Occurrence] = []
    for searched in _searched(trace, lanes) if matches.any() else ():
        hits = np.flatnonzero(matches[searched.names])
        if len(hits) == 0:
            continue
        count += len(hits)
        starts = searched.starts[hits]
        longest = int(np.argmax(searched.ends[hits] - starts))
        after = int(starts.searchsorted(_own(trace, searched.lane, after_ns), side="right"))
        chosen = {0, longest, min(after, len(hits) - 1)}
        found += [_occurrence(trace, searched, int(hits[place])) for place in sorted(chosen)]
    later = [one for one in found if one.time.start_ns > after_ns] or found
    return NameSearch(
        names=int(matches.sum()),
        count=count,
        longest=max(found, key=lambda one: one.time.duration_ns, default=None),
        following=min(later, key=lambda one: one.time.start_ns, default=None),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Searched:
    """The marks of a row that are searched, in order of start; `first` is the place of the first of them."""

    lane: int
    row: Row
    first: int
    starts: Int64s
    ends: Int64s
    names: Int32s


def _searched(trace: Trace, lanes: Sequence[int]) -> Iterator[_Searched]:
    """Yield the rows of all lanes; those of a process once, with its first lane."""
    processes: set[int] = set()
    for place in lanes:
        lane = trace.lanes[place]
        for row, kind in OPERATIONS.items():
            one = lane.operations[kind]
            yield _Searched(place, row, 0, one.starts, one.ends, one.names)
        process = trace.processes[lane.process]
        if lane.process in processes or process.launching_thread is None:
            continue
        processes.add(lane.process)
        for row, events in ((Row.RANGES, process.ranges), (Row.CALLS, process.calls)):
            own = events.of_thread(process.launching_thread)
            yield _Searched(place, row, own.start, events.starts[own], events.ends[own], events.names[own])


def _occurrence(trace: Trace, searched: _Searched, place: int) -> Occurrence:
    about = LaneLookup(trace, searched.lane)
    time = about.timed(int(searched.names[place]), int(searched.starts[place]), int(searched.ends[place]))
    return Occurrence(lane=searched.lane, row=searched.row, op=searched.first + place, time=time)


def _passing(holes: Holes, some: slice, wanted: HoleFilter) -> Bools:
    """Say which of some holes are looked at; shape (some,)."""
    passes: Bools = holes.ends[some] - holes.starts[some] >= wanted.min_hole_ns
    if wanted.causes:
        passes &= np.isin(holes.causes[some], [_CODES[cause] for cause in wanted.causes])
    return passes


def _found(trace: Trace, lane: int, hole: int) -> FoundHole:
    holes, about = trace.lanes[lane].holes, LaneLookup(trace, lane)
    start, end = (about.since_origin(int(times[hole])) for times in (holes.starts, holes.ends))
    return FoundHole(lane=lane, hole=hole, start_ns=start, end_ns=end)


def _own(trace: Trace, lane: int, since_origin: int) -> int:
    return trace.lanes[lane].clock.own(since_origin + trace.origin_ns)
