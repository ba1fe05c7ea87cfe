"""Finds which communication operations of different lanes are one collective, and who waited in it for whom.

Operations of one collective end together, on the clock that `alignment` has put all lanes on.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gapfinder.analysis.launches import rows_by_code
from gapfinder.analysis.tracks import NOT_KNOWN, Track, ends_together

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from gapfinder.analysis.intervals import Int64s


NEARLY_AS_SURE = 0.9
"""A lane is a partner when it fits nearly as well as the best one: a replica that runs nearly in step fits worse."""


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LaneCommunication:
    """One lane's communication operations, in any order; each array has shape (n,).

    Attributes:
        clock: number of the clock; lanes with the same number share it.
        starts, ends: ns on that clock.
        streams: one code per stream of the lane.
        operations: index into `hints.OPERATIONS`.
        communicators: id from payloads, the same on all its lanes; NOT_KNOWN where none was captured.
        blur: ns by which the clock may be wrong against those of others.
    """

    clock: int
    starts: Int64s
    ends: Int64s
    streams: Int64s
    operations: Int64s
    communicators: Int64s
    blur: int = 0

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


def find_instances(lanes: Sequence[LaneCommunication]) -> tuple[list[Int64s], int]:
    """Return the number of each operation's collective by lane, NOT_KNOWN without a match, and how many there are.

    Args:
        lanes: lanes that are now on one clock have one number of it.
    """
    instances = [np.full(len(lane), NOT_KNOWN, np.int64) for lane in lanes]
    count = 0
    for clock in sorted({lane.clock for lane in lanes}):
        tracks = [track for at, lane in enumerate(lanes) if lane.clock == clock for track in _tracks(at, lane)]
        for track in join_all(tracks, ends_together):
            if len(track.rows) == 1:
                continue
            for lane, rows in track.rows.items():
                known = rows != NOT_KNOWN
                instances[lane][rows[known]] = count + np.flatnonzero(known)
            count += len(track)
    return instances, count


def joined_tracks(lanes: Sequence[LaneCommunication], *, owner: int) -> list[Track]:
    """Return what lanes on one clock communicate, each collective once, as tracks of one owner."""
    tracks = [track for number, lane in enumerate(lanes) for track in _tracks(number, lane)]
    return [
        Track(owner, one.communicator, one.starts, one.ends, one.operations, one.rows)
        for one in join_all(tracks, ends_together)
    ]


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
                lane.blur,
            )
        )
    return found


def join_all(tracks: list[Track], compare: Callable[[Track, Track], tuple[Int64s, float] | None]) -> list[Track]:
    """Join tracks of different owners that `compare` finds to be the same; what finds no partner stays alone.

    Args:
        tracks: of any owners.
        compare: returns for each operation of the second track its place in the first or NOT_KNOWN, and how sure that
            is; None where the tracks differ, else at least one place is known.
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
        chosen = [(at, places) for sure, at, places in partners.values() if sure >= NEARLY_AS_SURE * best]
        joined, rest = _join(leader, [(pool[at], places) for at, places in chosen])
        taken = {at for at, _ in chosen}
        pool = [track for at, track in enumerate(pool) if at not in taken]
        if rest:
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
    times = (leader.starts, leader.ends)
    joined = Track(leader.owner, leader.communicator, *times, leader.operations, rows, leader.blur)
    return joined.select(in_any), [track for track in rest if len(track)]


def split_times(
    lanes: Sequence[LaneCommunication], instances: Sequence[Int64s], *, count: int
) -> list[CommunicationTimes]:
    """Split each operation into wait and transfer: transfer is the shortest length of its collective.

    Args:
        lanes: each on its own clock: lengths are compared, not times.
        instances: by lane the number of each operation's collective.
        count: how many there are.
    """
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
