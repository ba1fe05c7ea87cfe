"""Who waited for whom in which step, inside collectives and behind no compute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.intervals import Measure
from gapfinder.analysis.tracks import NOT_KNOWN
from gapfinder.hosts import LaneSteps

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gapfinder.analysis.communication import KeptCommunication
    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.matching import CommunicationTimes
    from gapfinder.analysis.stragglers import StepTable

    Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Waits:
    """Waits in collectives of which one lane came last; each array has shape (n,).

    Attributes:
        lanes: who waited.
        late_lanes: for whom.
        steps: number of the complete step that the operation began in, NOT_KNOWN for none.
        exposed: how long, without what was hidden behind compute; ns.
    """

    lanes: Int64s
    late_lanes: Int64s
    steps: Int64s
    exposed: Int64s

    @classmethod
    def of(cls, kept: Sequence[KeptCommunication], times: Sequence[CommunicationTimes]) -> Waits:
        """Return the waits of all lanes, by their communication and what `match_job` found."""
        nothing = (np.empty(0, np.int64),) * 4
        parts = [_waits_of(lane, *both) for lane, both in enumerate(zip(kept, times, strict=True))]
        return cls(*map(np.concatenate, zip(nothing, *parts, strict=True)))

    def caused_by(self, *, lanes: int) -> Int64s:
        """Return how long others waited for each of `lanes` lanes; ns."""
        caused = np.zeros(lanes, np.int64)
        np.add.at(caused, self.late_lanes, self.exposed)
        return caused


def _waits_of(lane: int, own: KeptCommunication, found: CommunicationTimes) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    waited = (found.transfer_starts > found.starts) & (found.late_lanes != NOT_KNOWN)
    starts, ends = found.starts[waited], found.transfer_starts[waited]
    exposed = ends - starts - Measure(own.computed).within(starts, ends)
    return np.full(len(starts), lane), found.late_lanes[waited], own.steps_of()[waited], exposed


def lane_steps(table: StepTable, waits: Waits) -> LaneSteps | None:
    """Return every lane in every step that at least two lanes have; None without any."""
    steps, lanes = table.own.shape
    if steps == 0:
        return None
    place = np.minimum(np.searchsorted(table.numbers, waits.steps), steps - 1)
    inside = table.numbers[place] == waits.steps
    waited, caused = (np.zeros((steps, lanes), np.int64) for _ in range(2))
    np.add.at(waited, (place[inside], waits.lanes[inside]), waits.exposed[inside])
    np.add.at(caused, (place[inside], waits.late_lanes[inside]), waits.exposed[inside])
    longest = caused.max(axis=1).tolist()
    return LaneSteps(
        numbers=tuple(table.numbers.tolist()),
        own_ns=_rows(table.own, table.own),
        wait_ns=_rows(waited.astype(np.float64), table.own),
        critical_lanes=tuple(
            lane if most else None for lane, most in zip(caused.argmax(axis=1).tolist(), longest, strict=True)
        ),
        critical_wait_ns=tuple(longest),
    )


def _rows(times: Floats, present: Floats) -> tuple[tuple[int | None, ...], ...]:
    """Return whole ns row by row; None where `present` is NaN."""
    missing = np.isnan(present)
    whole = np.rint(np.where(missing, 0, times)).astype(np.int64).astype(object)
    whole[missing] = None
    return tuple(map(tuple, whole.tolist()))
