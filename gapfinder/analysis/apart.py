"""Reports that are on one clock, have communication of one kind, and no collective in common: something is amiss."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.tracks import NOT_KNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.matching import LaneCommunication

    Kinds = set[tuple[int, int]]


def reports_apart(
    lanes: Sequence[LaneCommunication], instances: Sequence[Int64s], *, reports: Sequence[int]
) -> dict[int, list[int]]:
    """Return by clock the reports that should have a collective in common with another one there, and have none.

    Args:
        lanes: communication of each lane.
        instances: which collective each operation is, for each lane.
        reports: number of each lane's report.
    """
    found = {}
    places = dict.fromkeys((lane.clock, report) for lane, report in zip(lanes, reports, strict=True))
    for clock, count in Counter(clock for clock, _ in places).items():
        if count == 1:
            continue
        kinds: dict[int, Kinds] = {}
        seen: dict[int, list[Int64s]] = {}
        for lane, own, report in zip(lanes, instances, reports, strict=True):
            if lane.clock == clock:
                kinds.setdefault(report, set()).update(_kinds(lane))
                seen.setdefault(report, []).append(own[own != NOT_KNOWN])
        distinct = {report: np.unique(np.concatenate(own)) for report, own in seen.items()}
        counts = np.bincount(np.concatenate(list(distinct.values())))
        apart = [
            report
            for report, own in distinct.items()
            if not (counts[own] > 1).any() and any(kinds[report] & kinds[one] for one in kinds if one != report)
        ]
        if apart:
            found[clock] = apart
    return found


def _kinds(lane: LaneCommunication) -> Kinds:
    """Return which operations there are on which communicator, as far as that is told."""
    return set(zip(lane.operations.tolist(), lane.communicators.tolist(), strict=True))
