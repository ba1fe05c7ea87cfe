"""Puts the lanes of a job on one clock and finds the collectives they have in common: each needs the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gapfinder.analysis.clock_lines import REFERENCE, ClockLine, fit_line, usual_distance
from gapfinder.analysis.clock_search import Ends, is_telling, search_line
from gapfinder.analysis.matching import find_instances, joined_tracks, split_times
from gapfinder.analysis.tracks import NOT_KNOWN, same_order
from gapfinder.errors import InconclusiveError
from gapfinder.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.matching import CommunicationTimes, LaneCommunication
    from gapfinder.analysis.tracks import Track

_STEPS_SEARCHED, _REACH_NS = 2, 1_000_000_000
_FEWEST_TELLING = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class Clock:
    """A clock that lanes are on: of a host, or of a report whose host is not known.

    Attributes:
        name: of the host, else of the report.
        is_utc: it shows the time of day, and so about what others show that do; else the time since an unknown moment.
    """

    name: str
    is_utc: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Alignment:
    """A clock against the one it was compared with.

    Attributes:
        root: number of the reference that it is aligned with, directly or by way of others; its own where there is
            none.
        parent: number of the clock it was compared with.
        line: how far it is ahead of the root.
        residual_ns: 95 % of their common collectives end no further apart; summed along the way to the root.
        collectives: found on this clock and on another one.
    """

    root: int
    parent: int
    line: ClockLine
    residual_ns: int
    collectives: int


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
    alignments = _refined(seeds, _common_ends(lanes, instances)) if len(clocks) > 1 else list(seeds)
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
            for number in tuple(waiting):
                line = search.line(parent, number)
                if line is not None:
                    line = line.after(found[parent].line)
                    found[number] = Alignment(root=root, parent=parent, line=line, residual_ns=0, collectives=0)
                    reached.append(number)
                    waiting.remove(number)
    return found


class _Search:
    """Compares clocks two by two, and keeps what it made of each."""

    def __init__(
        self, lanes: Sequence[LaneCommunication], clocks: Sequence[Clock], *, step_ns: int | None
    ) -> None:
        self._lanes = [[lane for lane in lanes if lane.clock == number] for number in range(len(clocks))]
        self._clocks = clocks
        self._reach = _STEPS_SEARCHED * step_ns if step_ns else _REACH_NS
        self._ends = [Ends.of(own) for own in self._lanes] if len(clocks) > 1 else []
        self._tracks: dict[int, list[Track]] = {}

    def line(self, one: int, other: int) -> ClockLine | None:
        """Return how far clock `other` is ahead of clock `one`: near by the time of day, else by order."""
        if self._clocks[one].is_utc and self._clocks[other].is_utc:
            line = search_line(self._ends[one], self._ends[other], reach=self._reach)
            return line or self._by_order(one, other, fewest_far=_FEWEST_TELLING)
        return self._by_order(one, other, fewest_far=1)

    def _by_order(self, one: int, other: int, *, fewest_far: int) -> ClockLine | None:
        """Return the line through the tracks that are most surely the same in order.

        Clocks out of reach need `fewest_far` operations: one that both have proves nothing.
        """
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
            return None
        line = fit_line(best[2], best[3])
        return line if abs(line.offset_ns) <= self._reach or best[1] >= fewest_far else None

    def _tracks_of(self, number: int) -> list[Track]:
        if number not in self._tracks:
            self._tracks[number] = joined_tracks(self._lanes[number], owner=number)
        return self._tracks[number]


def _common_ends(lanes: Sequence[LaneCommunication], instances: Sequence[Int64s]) -> pd.DataFrame:
    """Return when each collective that is on several clocks ended on each: one row by instance and clock.

    Of several lanes on a clock it is the median. Where enough collectives tell, those that need not end together are
    left out of `telling`.
    """
    columns = {
        "instance": np.concatenate([np.empty(0, np.int64), *instances]),
        "clock": np.repeat([lane.clock for lane in lanes], [len(lane) for lane in lanes]),
        "end": np.concatenate([np.empty(0, np.int64), *(lane.ends for lane in lanes)]),
        "telling": is_telling(np.concatenate([np.empty(0, np.int64), *(lane.operations for lane in lanes)])),
    }
    rows = pd.DataFrame(columns)
    rows = rows[rows["instance"] != NOT_KNOWN]
    base = int(rows["end"].min()) if len(rows) else 0
    rows["end"] -= base
    ends = rows.groupby(["instance", "clock"], as_index=False).agg({"end": "median", "telling": "first"})
    ends["end"] = ends["end"].astype(np.int64) + base
    return ends[ends.groupby("instance")["clock"].transform("size") > 1]


def _refined(seeds: Mapping[int, Alignment], ends: pd.DataFrame) -> list[Alignment]:
    """Return the alignments by the collectives that were found, and how far those still end apart."""
    counts = ends.groupby("clock").size().to_dict()
    of_clock = {number: own.set_index("instance") for number, own in ends.groupby("clock")}
    refined: dict[int, Alignment] = {}
    for number, seed in seeds.items():
        one, collectives = replace(seed, collectives=int(counts.get(number, 0))), of_clock.get(number)
        parent = of_clock.get(seed.parent)
        if number != seed.parent and collectives is not None and parent is not None:
            both = collectives.join(parent["end"].rename("parent_end"), how="inner").sort_index()
            telling = both[both["telling"]] if both["telling"].sum() >= _FEWEST_TELLING else both
            if len(telling):
                one = _fitted(one, telling, parent=refined[seed.parent])
        refined[number] = one
    return [refined[number] for number in range(len(refined))]


def _fitted(one: Alignment, both: pd.DataFrame, *, parent: Alignment) -> Alignment:
    own, theirs = both["end"].to_numpy(), both["parent_end"].to_numpy()
    line = fit_line(own, own - theirs)
    residual = usual_distance(np.abs(line.corrected(own) - theirs))
    return replace(one, line=line.after(parent.line), residual_ns=residual + parent.residual_ns)


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
