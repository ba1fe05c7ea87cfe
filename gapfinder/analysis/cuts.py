"""Where a report that is too large for memory is cut in time: inside a running compute kernel of each lane.

No gap, no hole and no idle stretch crosses such an instant, so that every one of them is measured in one piece, and
times on both sides add up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.budget import ALWAYS, Window

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    Place = tuple[int, int]
    Windows = Mapping[Place, Window]


def windows_between(cuts: Sequence[Mapping[Place, int]], *, lanes: Iterable[Place]) -> list[Windows]:
    """Return the windows of each lane that its cuts make of all time; some may be empty.

    Args:
        cuts: in order of time, the instant for each lane; a lane without one has no kernel any more that could be cut.
        lanes: (process, device) of all lanes.
    """
    edges = {lane: [ALWAYS.start_ns, *(one.get(lane, ALWAYS.end_ns) for one in cuts), ALWAYS.end_ns] for lane in lanes}
    return [
        {lane: Window(start_ns=own[number], end_ns=own[number + 1]) for lane, own in edges.items()}
        for number in range(len(cuts) + 1)
    ]
