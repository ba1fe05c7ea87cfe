"""Finds which communication operations of different lanes are one collective, and who waited in it for whom.

Lanes of one report share a clock: operations of one collective end together there. Lanes of different reports do not:
they are matched by order, and checked by the offset between their clocks, which has to stay the same.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gapfinder.analysis.launches import rows_by_code
from gapfinder.analysis.tracks import NOT_KNOWN, Track, ends_together, same_order

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from gapfinder.analysis.intervals import Int64s

    Bools = NDArray[np.bool_]

_AS_SURE = 0.9
"""A lane is a partner when it fits nearly as well as the best one: a replica that runs nearly in step fits worse."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LaneCommunication:
    """One lane's communication operations, in any order; each array has shape (n,).

    Attributes:
        file: number of the report; lanes with the same number share a clock.
        starts, ends: ns on that clock.
        streams: one code per stream of the lane.
        operations: index into `hints.OPERATIONS`.
        communicators: id from payloads, the same on all its lanes; NOT_KNOWN where none was captured.
    """

    file: int
    starts: Int64s
    ends: Int64s
    streams: Int64s
    operations: Int64s
    communicators: Int64s

    def __len__(self) -> int:
        return len(self.starts)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CommunicationTimes:
    """One lane's communication operations in the order they were given; each array has shape (n,).

    Attributes:
        starts, ends: ns, as given.
        transfer_starts: until then the lane waited for others, from then on data moved; NOT_KNOWN without a match.
        late_lanes: the last lane to arrive; NOT_KNOWN without a match, and where several were equally late.
        instances: number of the collective, the same on all its lanes; NOT_KNOWN without a match.
    """

    starts: Int64s
    ends: Int64s
    transfer_starts: Int64s
    late_lanes: Int64s
    instances: Int64s


def match_lanes(lanes: Sequence[LaneCommunication]) -> list[CommunicationTimes]:
    """Return for each lane who waited when; wait and transfer of an operation add up to its length."""
    instances = [np.full(len(lane), NOT_KNOWN, np.int64) for lane in lanes]
    count = 0
    for track in _matched(lanes):
        for lane, rows in track.rows.items():
            known = rows != NOT_KNOWN
            instances[lane][rows[known]] = count + np.flatnonzero(known)
        count += len(track)
    return _times(lanes, instances, count)


def _matched(lanes: Sequence[LaneCommunication]) -> list[Track]:
    """Return the collectives that more than one lane is in."""
    reports: list[Track] = []
    for file in sorted({lane.file for lane in lanes}):
        tracks = [track for number, lane in enumerate(lanes) if lane.file == file for track in _tracks(number, lane)]
        reports += [
            Track(file, one.communicator, one.starts, one.ends, one.operations, one.rows)
            for one in _join_all(tracks, ends_together, again=True)
        ]
    if len({lane.file for lane in lanes}) > 1:
        reports = _join_all(reports, same_order, again=False)
    return [track for track in reports if len(track.rows) > 1]


def _tracks(number: int, lane: LaneCommunication) -> list[Track]:
    """Split a lane's operations by communicator where it is known, else by stream."""
    if len(lane) == 0:
        return []
    has_communicator = lane.communicators != NOT_KNOWN
    keys = np.where(has_communicator, lane.communicators, lane.streams)
    codes = pd.factorize(keys)[0] * 2 + has_communicator
    codes, kinds = pd.factorize(codes)
    found = []
    for rows in rows_by_code(codes, len(kinds)):
        ordered = rows[np.lexsort((lane.starts[rows], lane.ends[rows]))]
        found.append(
            Track(
                number,
                int(lane.communicators[ordered[0]]),
                lane.starts[ordered],
                lane.ends[ordered],
                lane.operations[ordered],
                {number: ordered},
            )
        )
    return found


def _join_all(
    tracks: list[Track], compare: Callable[[Track, Track], tuple[Int64s, float] | None], *, again: bool
) -> list[Track]:
    """Join tracks of different owners that `compare` finds to be the same; what finds no partner stays alone.

    Args:
        tracks: of any owners.
        compare: returns for each operation of the second track its place in the first or NOT_KNOWN, and how sure that
            is; None where the tracks differ, else at least one place is known.
        again: whether what is left of joined tracks may have other partners. By order alone it may not: where the order
            has slipped, what is left fits itself just as well, and wrongly.
    """
    pool = sorted(tracks, key=lambda track: (-len(track), track.owner, int(track.ends[0])))
    done = []
    while pool:
        leader = pool.pop(0)
        partners: dict[int, tuple[float, int, Int64s]] = {}
        for at, other in enumerate(pool):
            places = compare(leader, other) if _may_join(leader, other) else None
            if places is not None and places[1] > partners.get(other.owner, (0.0,))[0]:
                partners[other.owner] = (places[1], at, places[0])
        best = max((sure for sure, _, _ in partners.values()), default=0.0)
        chosen = [(at, places) for sure, at, places in partners.values() if sure >= _AS_SURE * best]
        joined, rest = _join(leader, [(pool[at], places) for at, places in chosen])
        taken = {at for at, _ in chosen}
        pool = [track for at, track in enumerate(pool) if at not in taken]
        if again and rest:
            pool = sorted([*pool, *rest], key=len, reverse=True)
        done.append(joined)
    return done


def _may_join(one: Track, other: Track) -> bool:
    return one.owner != other.owner and one.communicator == other.communicator


def _join(leader: Track, partners: list[tuple[Track, Int64s]]) -> tuple[Track, list[Track]]:
    """Return the collectives of `leader` and its partners, and what is left of each."""
    if not partners:
        return leader, []
    rows = dict(leader.rows)
    in_any = np.zeros(len(leader), np.bool_)
    rest = []
    for other, places in partners:
        known = places != NOT_KNOWN
        in_any[places[known]] = True
        for lane, own in other.rows.items():
            rows[lane] = np.full(len(leader), NOT_KNOWN, np.int64)
            rows[lane][places[known]] = own[known]
        rest.append(other.select(~known))
    rest.append(leader.select(~in_any))
    joined = Track(leader.owner, leader.communicator, leader.starts, leader.ends, leader.operations, rows)
    return joined.select(in_any), [track for track in rest if len(track)]


def _times(lanes: Sequence[LaneCommunication], instances: list[Int64s], count: int) -> list[CommunicationTimes]:
    """Split each operation into wait and transfer: transfer is the shortest length of its instance."""
    transfers = np.full(count, np.iinfo(np.int64).max, np.int64)
    lengths = [lane.ends - lane.starts for lane in lanes]
    for own, length in zip(instances, lengths, strict=True):
        known = own != NOT_KNOWN
        np.minimum.at(transfers, own[known], length[known])
    shortest, late = np.zeros(count, np.int64), np.full(count, NOT_KNOWN, np.int64)
    for number, (own, length) in enumerate(zip(instances, lengths, strict=True)):
        last = own[(own != NOT_KNOWN) & (length == np.append(transfers, -1)[own])]
        shortest[last] += 1
        late[last] = number
    late[shortest != 1] = NOT_KNOWN
    transfers, late = np.append(transfers, 0), np.append(late, NOT_KNOWN)
    return [
        CommunicationTimes(
            starts=lane.starts,
            ends=lane.ends,
            transfer_starts=np.where(own != NOT_KNOWN, lane.ends - transfers[own], NOT_KNOWN),
            late_lanes=late[own],
            instances=own,
        )
        for lane, own in zip(lanes, instances, strict=True)
    ]
