"""Finds operations, ranges and calls by name, and steps by number."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dashboards.data.lookups import check_place
from dashboards.data.rows import OPERATIONS, Row
from dashboards.data.trace import Events
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from dashboards.data.trace import LaneTrace, Operations, Steps, Trace


@dataclass(frozen=True, slots=True)
class FoundMark:
    """An operation, step, range or call, by its place in its lane's or its process's arrays; ns since the origin."""

    lane: int
    row: Row
    op: int
    start_ns: int
    end_ns: int
    name: str
    depth: int


@dataclass(frozen=True, slots=True)
class Search:
    """What a search found: how many there are in the lanes looked at, and the next one; None where none is left."""

    count: int
    found: FoundMark | None


def search(trace: Trace, *, text: str, from_ns: int, is_back: bool, lanes: Sequence[int]) -> Search:
    """Look for names that contain `text` in any case; the next mark is the first after `from_ns`, or the last before.

    Ranges and calls are looked for on the thread that launches the lane's work, as they are shown.
    """
    wanted = trace.names.containing(text)
    if not wanted.any():
        return Search(0, None)
    count = 0
    best: tuple[int, int, Row, int] | None = None
    for lane in lanes:
        one = trace.lanes[lane]
        for row, marks in _marks(trace, one):
            places = _places(trace, one, row, wanted=wanted)
            count += len(places)
            starts = one.clock.all_shared(marks.starts[places]) - trace.origin_ns
            at = (
                int(np.searchsorted(starts, from_ns, side="left")) - 1
                if is_back
                else int(np.searchsorted(starts, from_ns, side="right"))
            )
            if not 0 <= at < len(places):
                continue
            start = int(starts[at])
            if best is None or (start > best[0] if is_back else start < best[0]):
                best = start, lane, row, int(places[at])
    return Search(count, None if best is None else _mark(trace, lane=best[1], row=best[2], place=best[3]))


def mark_at(trace: Trace, *, lane: int, row: Row, op: int) -> FoundMark:
    """Return a mark by its place; InputError where there is none."""
    check_place(lane, of=len(trace.lanes), what="lane")
    if row is Row.HOLES:
        raise InputError("a hole is no operation; ask for the hole")
    check_place(op, of=len(marks_of(trace, trace.lanes[lane], row).starts), what=f"mark in {row}")
    return _mark(trace, lane=lane, row=row, place=op)


def marks_of(trace: Trace, lane: LaneTrace, row: Row) -> Operations | Events | Steps:
    """Return the arrays that the ids of a row's marks are places in; KeyError for holes."""
    return lane.steps if row is Row.STEPS else dict(_marks(trace, lane))[row]


def _marks(trace: Trace, lane: LaneTrace) -> Iterator[tuple[Row, Operations | Events]]:
    for row, kind in OPERATIONS.items():
        yield row, lane.operations[kind]
    process = trace.processes[lane.process]
    yield Row.RANGES, process.ranges
    yield Row.CALLS, process.calls


def _places(trace: Trace, lane: LaneTrace, row: Row, *, wanted: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Return the places of marks whose name is wanted, in order of start."""
    marks = marks_of(trace, lane, row)
    first, last = 0, len(marks.starts)
    if isinstance(marks, Events):
        thread = trace.processes[lane.process].launching_thread
        shown = slice(0, 0) if thread is None else marks.of_thread(thread)
        first, last = shown.start, shown.stop
    return first + np.flatnonzero(wanted[marks.names[first:last]])


def _mark(trace: Trace, *, lane: int, row: Row, place: int) -> FoundMark:
    marks = marks_of(trace, trace.lanes[lane], row)
    clock = trace.lanes[lane].clock
    start, end = (clock.shared(int(times[place])) - trace.origin_ns for times in (marks.starts, marks.ends))
    depth = int(marks.depths[place]) if isinstance(marks, Events) else 0
    return FoundMark(lane, row, place, start, end, trace.names[int(marks.names[place])], depth)


@dataclass(frozen=True, slots=True)
class FoundStep:
    """A step of one number over all lanes that have it; ns since the origin."""

    number: int
    start_ns: int
    end_ns: int


def step_numbers(trace: Trace) -> tuple[int, int] | None:
    """Return the first and last number of a step; None without steps."""
    numbers = [lane.steps.numbers for lane in trace.lanes if len(lane.steps.numbers)]
    return None if not numbers else (min(int(one.min()) for one in numbers), max(int(one.max()) for one in numbers))


def find_step(trace: Trace, *, number: int) -> FoundStep | None:
    """Return from where the first to where the last lane is in a step; None where no lane has it."""
    starts, ends = [], []
    for lane in trace.lanes:
        places = np.flatnonzero(np.asarray(lane.steps.numbers) == number)
        starts += [lane.clock.shared(int(lane.steps.starts[place])) - trace.origin_ns for place in places]
        ends += [lane.clock.shared(int(lane.steps.ends[place])) - trace.origin_ns for place in places]
    return FoundStep(number, min(starts), max(ends)) if starts else None
