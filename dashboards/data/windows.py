"""What the timeline asks for and gets: any stretch of time of any lanes, exact at every zoom, never more than fits.

The answer is JSON that assets/timeline*.js reads. Its times are float64 ns since the window's start (exact below
2**53); an array of numbers is {"dtype": "f8", "i4" or "u1", "data": base64 of its little-endian bytes}:

    {"start": int, "end": int, "columns": int,      the window that was answered, clamped to the profile
     "lanes": [{"lane": int,
        "rows": [{"row": "compute", "mode": "share",
                  "share": u1 (columns,)},          255 is all; any activity gives 1 at least, not all gives 254 at most
                 {"row": "compute", "mode": "marks",
                  "starts": f8, "ends": f8,         not clipped to the window
                  "names": i4, "depths": u1, "ids": i4}],   places in the lane's or its process's arrays
        "holes": {"starts": f8, "ends": f8, "causes": u1, "ids": i4, "shown": int, "of": int,
                  "lost": u1 (columns,)}}],         share of the column that is hole, all holes counted
     "names": {code: text},                         of the names in marks only
     "marks": {"shown": int, "of": int}}            operations, ranges and calls in the window, over all rows asked

Of more holes than a third of MOST_MARKS the longest in each pixel column is kept, so that the largest stays visible at
every zoom. Steps are always marks; their name is the step's text ("step 12").
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gapfinder.explanations import Cause

MOST_MARKS = 5_000
MOST_COLUMNS = 4_096
MOST_OPERATIONS_DRAWN = 1_500
"""More operations in view than this, over all rows asked for, are shown as busy share per column."""


class Row(StrEnum):
    """The rows of a lane, in order from the top."""

    HOLES = "holes"
    STEPS = "steps"
    COMPUTE = "compute"
    COMMUNICATION = "communication"
    COPIES = "copies"
    GRAPHS = "graphs"
    RANGES = "ranges"
    CALLS = "calls"


@dataclass(frozen=True, kw_only=True, slots=True)
class WindowRequest:
    """One stretch of the timeline.

    Attributes:
        start_ns, end_ns: since the profile's origin, shared clock.
        columns: pixel columns to fill, at most MOST_COLUMNS.
        lanes: which, in the order they are wanted.
        rows: which; rows without anything in the whole lane are left out of the answer.
        causes: holes of these only; empty for all.
        min_hole_ns: holes at least this long.
    """

    start_ns: int
    end_ns: int
    columns: int
    lanes: tuple[int, ...]
    rows: tuple[Row, ...] = tuple(Row)
    causes: tuple[Cause, ...] = ()
    min_hole_ns: int = 0
