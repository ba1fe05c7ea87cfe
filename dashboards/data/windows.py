"""What the timeline asks for and gets: any stretch of time of any lanes, exact at every zoom, never more than fits.

The answer is JSON that assets/timeline*.js reads. Its times are float64 ns since the window's start (exact below
2**53); an array of numbers is {"dtype": "f8", "i4" or "u1", "data": base64 of its little-endian bytes}:

    {"start": int, "end": int,       the window that was answered, clamped to the profile
     "columns": int,                 at most as many as asked for: fewer where lanes are many, or a column under 1 ns
     "lanes": [{"lane": int,
        "rows": [{"row": "compute", "mode": "share",
                  "share": u1 (columns,)},          255 is all; any activity gives 1 at least, not all gives 254 at most
                 {"row": "compute", "mode": "marks",
                  "starts": f8, "ends": f8,         not clipped to the window
                  "names": i4, "depths": u1, "ids": i4}],   places in the lane's or its process's arrays
        "holes": {"starts": f8, "ends": f8, "causes": u1, "ids": i4, "shown": int, "of": int,
                  "lost": u1 (columns,),            share of the column that is hole, all holes counted that pass
                  "longest": u1 (columns,)}}],      cause of the longest hole in the column, shown or not; 255 is none
     "names": {code: text},                         of the names in marks only, long ones cut
     "marks": {"shown": int, "of": int}}            operations, steps, ranges and calls in the window, of all rows asked

Of more holes than a third of MOST_MARKS, those are kept that are the longest of equal parts of the window; "longest"
tells the largest of every pixel column at any zoom. Ranges that are too many are shown from the outermost in. Calls
that are too many become shares, as operations do. Steps are always marks; their name is the step's text ("step 12").
The rows "ranges" and "calls" are about the thread that launches most.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import numpy as np

from dashboards.data import packing
from dashboards.data.lane_view import LaneView, Marks
from dashboards.data.rows import OPERATIONS, Row, WindowRequest
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from dashboards.data.trace import Trace

__all__ = ["MOST_COLUMNS", "MOST_LANES", "MOST_MARKS", "MOST_OPERATIONS_DRAWN", "Row", "WindowRequest", "answer"]

MOST_MARKS = 5_000
MOST_COLUMNS = 4_096
MOST_LANES = 128
MOST_OPERATIONS_DRAWN = 1_500
"""More operations in view than this, over all rows asked for, are shown as busy share per column."""

_MOST_HOLES = MOST_MARKS // 3
_MOST_STEPS, _MOST_RANGES, _MOST_CALLS = 800, 500, 500
_MOST_BYTES = 280_000
_FEWEST_COLUMNS = 64
# Bytes of JSON: of a lane with its holes, of a row, of a mark beside its name, of a share.
_PER_LANE, _PER_ROW, _PER_MARK, _PER_HOLE, _PER_SHARE = 420, 210, 34, 29, 4 / 3
_LONGEST_NAME, _SHORTEST_NAME, _BYTES_OF_NAMES = 200, 20, 50_000


def answer(trace: Trace, request: WindowRequest) -> bytes:
    """Return what is in a window as JSON, which the text at the top of this module describes.

    Raises:
        InputError: the request asks for lanes that there are not, or for too many lanes or columns.
    """
    _check(trace, request)
    start = min(max(request.start_ns, 0), max(trace.end_ns - 1, 0))
    end = max(start + 1, min(request.end_ns, trace.end_ns))
    views = [LaneView(trace, place, request, start=start, end=end) for place in request.lanes]
    marks, shared = _chosen(views)
    columns = min(request.columns, end - start, _columns_that_fit(views, marks, shared))
    most = max(1, _MOST_HOLES // max(len(views), 1))
    lanes = []
    for place, view, drawn in zip(request.lanes, views, marks, strict=True):
        rows = [view.packed_marks(one) for one in drawn]
        rows += [row for row in (view.packed_shares(row, columns=columns) for row in shared) if row is not None]
        rows.sort(key=lambda row: _ORDER[row.row])
        lanes.append(
            packing.Lane(lane=place, rows=rows, holes=view.packed_holes(most=_fair(views, most), columns=columns))
        )
    drawn_places = sum(len(one.places) for drawn in marks for one in drawn)
    return msgspec.json.encode(
        packing.Answer(
            start=start,
            end=end,
            columns=columns,
            lanes=lanes,
            names=_names(trace, marks),
            marks=packing.Counted(drawn_places, sum(view.count(*Row) for view in views)),
        )
    )


_ORDER = {str(row): place for place, row in enumerate(Row)}


def _check(trace: Trace, request: WindowRequest) -> None:
    if not 1 <= request.columns <= MOST_COLUMNS:
        raise InputError(f"a window has 1 to {MOST_COLUMNS} columns, not {request.columns}")
    if len(request.lanes) > MOST_LANES:
        raise InputError(f"at most {MOST_LANES} lanes are shown at once, not {len(request.lanes)}")
    unknown = [lane for lane in request.lanes if not 0 <= lane < len(trace.lanes)]
    if unknown:
        raise InputError(f"no lane {unknown[0]}; the profile has {len(trace.lanes)}")
    if request.end_ns <= request.start_ns:
        raise InputError("an empty window; its end must come after its start")


def _chosen(views: Sequence[LaneView]) -> tuple[list[list[Marks]], list[Row]]:
    """Return the marks of each lane, and the rows that become shares."""
    lanes = max(len(views), 1)
    shared: list[Row] = []
    most = {Row.STEPS: _MOST_STEPS, Row.RANGES: _MOST_RANGES}
    for rows, limit in ((tuple(OPERATIONS), MOST_OPERATIONS_DRAWN), ((Row.CALLS,), _MOST_CALLS)):
        if sum(view.count(*rows) for view in views) > limit:
            shared += rows
            most[Row.STEPS] += limit
        else:
            most |= dict.fromkeys(rows, limit * lanes)
    drawn = []
    for view in views:
        found = [view.marks(row, most=max(1, _room(views, row, limit))) for row, limit in most.items()]
        drawn.append([one for one in found if one is not None])
    return drawn, shared


def _room(views: Sequence[LaneView], row: Row, limit: int) -> int:
    """Return how many marks of a row each lane may have: no limit where all fit, else the same for each."""
    return limit if sum(view.count(row) for view in views) <= limit else limit // len(views)


def _fair(views: Sequence[LaneView], most: int) -> int:
    """Return how many holes each lane may have."""
    total = sum(len(view.holes) for view in views if view.holes is not None)
    return total if total <= _MOST_HOLES else most


def _columns_that_fit(views: Sequence[LaneView], marks: Sequence[Sequence[Marks]], shared: Sequence[Row]) -> int:
    """Return how many columns leave the answer small enough."""
    arrays = sum(sum(row in view.sources for row in shared) + 2 * (view.holes is not None) for view in views)
    rows = sum(len(drawn) for drawn in marks) + arrays
    drawn_places = sum(len(one.places) for drawn in marks for one in drawn)
    holes = min(_MOST_HOLES, sum(len(view.holes) for view in views if view.holes is not None))
    fixed = _BYTES_OF_NAMES + _PER_LANE * len(views) + _PER_ROW * rows + _PER_MARK * drawn_places + _PER_HOLE * holes
    return max(_FEWEST_COLUMNS, int((_MOST_BYTES - fixed) / _PER_SHARE) // max(arrays, 1))


def _names(trace: Trace, marks: Sequence[Sequence[Marks]]) -> dict[int, str]:
    """Return the names of marks, all cut to one length at which they fit."""
    codes = [one.names for drawn in marks for one in drawn if len(one.names)]
    distinct = np.unique(np.concatenate(codes)).tolist() if codes else []
    longest = min(_LONGEST_NAME, max(_SHORTEST_NAME, _BYTES_OF_NAMES // max(len(distinct), 1)))
    return {code: _cut(trace.names[code], longest) for code in distinct}


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
