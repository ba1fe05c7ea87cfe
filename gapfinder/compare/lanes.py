"""Which lanes of two captures are the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.compare.snapshot import LaneSnapshot


def same_lanes(old: Sequence[LaneSnapshot], new: Sequence[LaneSnapshot]) -> list[tuple[int | None, int | None]]:
    """Return pairs of indices by rank, where each lane has one of its own, else by place; None for no partner."""
    by_rank = [_by_rank(lanes) for lanes in (old, new)]
    was, now = by_rank if all(by_rank) else [{at: at for at in range(len(lanes))} for lanes in (old, new)]
    return [(was.get(key), now.get(key)) for key in sorted(was | now)]


def lanes_of_both(old: Sequence[LaneSnapshot], new: Sequence[LaneSnapshot]) -> tuple[tuple[int, int], ...]:
    """Return the pairs of `same_lanes` in which both are there."""
    return tuple((was, now) for was, now in same_lanes(old, new) if was is not None and now is not None)


def _by_rank(lanes: Sequence[LaneSnapshot]) -> dict[int, int]:
    """Return the index of each rank's lane; empty where not every lane has its own rank."""
    places = {lane.rank: at for at, lane in enumerate(lanes) if lane.rank is not None}
    return places if len(places) == len(lanes) else {}
