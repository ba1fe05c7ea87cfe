"""Puts the lanes of a job on one clock and finds the collectives they have in common: each needs the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gapfinder.analysis.clock_lines import REFERENCE, ClockLine, fit_line
from gapfinder.analysis.clock_refining import FEWEST_TELLING, Alignment, CommonEnds, refined
from gapfinder.analysis.clock_search import Ends, search_line
from gapfinder.analysis.matching import NEARLY_AS_SURE, find_instances, joined_tracks, split_times
from gapfinder.analysis.tracks import NOT_KNOWN, same_order
from gapfinder.errors import InconclusiveError
from gapfinder.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.matching import CommunicationTimes, LaneCommunication
    from gapfinder.analysis.tracks import Track

_STEPS_SEARCHED, _REACH_NS = 2, 1_000_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Clock:
    """A clock that lanes are on: of a host, or of a report whose host is not known.

    Attributes:
        name: of the host, else of the report.
        is_utc: it shows the time of day, and so about what others show that do; else the time since an unknown moment.
    """

    name: str
    is_utc: bool


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Matched:
    """Who waited for whom on each lane, and each clock's alignment."""

    times: list[CommunicationTimes]
    alignments: list[Alignment]


def match_job(
    lanes: Sequence[LaneCommunication],
    clocks: Sequence[Clock],
    *,
    rebased: Sequence[int] | None = None,
    step_ns: int | None = None,
) -> Matched:
    """Return the collectives of all lanes and how far their clocks are apart.

    Args:
        lanes: each on the clock of its report, which may count from another moment than others on the same clock.
        clocks: by number; each has a lane.
        rebased: what a lane's time 0 is on its clock, in ns; nothing where it is not given.
        step_ns: length of a step; None where there are none. Clocks that show the time of day are no further apart.

    Raises:
        InconclusiveError: two clocks are more than a step apart.
    """
    as_given = lanes
    lanes = [
        replace(lane, starts=lane.starts + zero, ends=lane.ends + zero)
        for lane, zero in zip(lanes, rebased or [0] * len(lanes), strict=True)
    ]
    seeds = _aligned(lanes, clocks, step_ns=step_ns)
    on_one = [
        replace(
            lane,
            clock=seeds[lane.clock].root,
            starts=seeds[lane.clock].line.corrected(lane.starts),
            ends=seeds[lane.clock].line.corrected(lane.ends),
            blur=seeds[lane.clock].line.scatter_ns,
        )
        for lane in lanes
    ]
    instances, count = find_instances(on_one)
    alignments = refined(seeds, CommonEnds.of(lanes, instances)) if len(clocks) > 1 else list(seeds.values())
    _check_offsets(alignments, clocks, step_ns=step_ns)
    return Matched(times=split_times(as_given, instances, count=count), alignments=alignments)


def _aligned(
    lanes: Sequence[LaneCommunication], clocks: Sequence[Clock], *, step_ns: int | None
) -> dict[int, Alignment]:
    """Return every clock against the first one that it is related to, directly or by way of others, in that order."""
    search = _Search(lanes, clocks, step_ns=step_ns)
    found: dict[int, Alignment] = {}
    waiting = sorted(range(len(clocks)), key=lambda number: (not clocks[number].is_utc, number))
    while waiting:
        root = waiting.pop(0)
        found[root] = Alignment(root=root, parent=root, line=REFERENCE, residual_ns=0, collectives=0)
        reached = [root]
        for parent in reached:
            for number, line in search.lines(parent, waiting).items():
                to_root = line.after(found[parent].line)
                found[number] = Alignment(root=root, parent=parent, line=to_root, residual_ns=0, collectives=0)
                reached.append(number)
                waiting.remove(number)
    return found


class _Search:
    """Compares clocks two by two, and keeps what it made of each."""

    def __init__(self, lanes: Sequence[LaneCommunication], clocks: Sequence[Clock], *, step_ns: int | None) -> None:
        self._lanes = [[lane for lane in lanes if lane.clock == number] for number in range(len(clocks))]
        self._clocks = clocks
        self._reach = _STEPS_SEARCHED * step_ns if step_ns else _REACH_NS
        self._ends = [Ends.of(own) for own in self._lanes] if len(clocks) > 1 else []
        self._tracks: dict[int, list[Track]] = {}
        self._surest: dict[int, float] = {}

    def lines(self, one: int, others: Sequence[int]) -> dict[int, ClockLine]:
        """Return how far those of `others` that can be compared are ahead of clock `one`.

        They are compared by the time of day where both show it, else by order. By order, one is left out where it or
        clock `one` fits another clock much better.
        """
        near = {number: self._near(one, number) for number in others}
        lines = {number: line for number, line in near.items() if line is not None}
        ordered = {number: self._by_order(one, number) for number in others if number not in lines}
        for number, (_, sure) in ordered.items():
            for clock in (one, number):
                self._surest[clock] = max(self._surest.get(clock, 0.0), sure)
        for number, (line, sure) in ordered.items():
            if line is not None and sure >= NEARLY_AS_SURE * max(self._surest[one], self._surest[number]):
                lines[number] = line
        return lines

    def _near(self, one: int, other: int) -> ClockLine | None:
        if not (self._clocks[one].is_utc and self._clocks[other].is_utc):
            return None
        return search_line(self._ends[one], self._ends[other], reach=self._reach)

    def _by_order(self, one: int, other: int) -> tuple[ClockLine | None, float]:
        """Return the line through the tracks that are most surely the same in order, and how sure that is."""
        best: tuple[float, int, Int64s, Int64s] | None = None
        for mine in self._tracks_of(one):
            for theirs in self._tracks_of(other):
                places = same_order(mine, theirs) if mine.communicator == theirs.communicator else None
                if places is None:
                    continue
                known = places[0] != NOT_KNOWN
                if known.any() and (best is None or (places[1], int(known.sum())) > best[:2]):
                    ends = theirs.ends[known]
                    best = (places[1], int(known.sum()), ends, ends - mine.ends[places[0][known]])
        if best is None:
            return None, 0.0
        line = fit_line(best[2], best[3])
        is_utc = self._clocks[one].is_utc and self._clocks[other].is_utc
        # one operation that both have proves nothing against the time of day
        if is_utc and abs(line.offset_ns) > self._reach and best[1] < FEWEST_TELLING:
            return None, 0.0
        return line, best[0]

    def _tracks_of(self, number: int) -> list[Track]:
        if number not in self._tracks:
            self._tracks[number] = joined_tracks(self._lanes[number], owner=number)
        return self._tracks[number]


def _check_offsets(alignments: Sequence[Alignment], clocks: Sequence[Clock], *, step_ns: int | None) -> None:
    """Raise where two clocks that show the time of day are more than a step apart."""
    for number, one in enumerate(alignments):
        if step_ns is None or not (clocks[number].is_utc and clocks[one.root].is_utc and one.collectives):
            continue
        if abs(one.line.offset_ns) > step_ns:
            raise InconclusiveError(
                f"the clock of {clocks[number].name} is {format_duration(one.line.offset_ns)} ahead of that of "
                f"{clocks[one.root].name}, more than a step ({format_duration(step_ns)}): are these reports of one "
                "run? Analyze the runs apart, or set the clocks of the hosts and capture again"
            )
