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
                  "names": i4, "depths": u1,
                  "ids": i4,                        places in the lane's or its process's arrays
                  "streams": i4}],                  of GPU operations only
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
from dashboards.data.covering import shares
from dashboards.data.lane_view import LaneView, Marks
from dashboards.data.rows import OPERATIONS, Row, WindowRequest
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from dashboards.data.trace import Trace

__all__ = ["MOST_COLUMNS", "MOST_LANES", "MOST_MARKS", "MOST_OPERATIONS_DRAWN", "Row", "WindowRequest", "answer"]

MOST_MARKS = 5_000
MOST_COLUMNS = 4_096
MOST_LANES = 128
MOST_OPERATIONS_DRAWN = 1_500
"""More operations in view than this, over all rows asked for, are shown as busy share per column."""

_MOST_HOLES = MOST_MARKS // 3
_MOST_STEPS, _MOST_RANGES, _MOST_CALLS = 800, 500, 500
_LANES_WITHOUT_LIMIT = 16
"""With more lanes, the marks of each are fewer, so that there is room for columns."""

_MOST_BYTES = 290_000
_FEWEST_COLUMNS = 64
_BYTES_BESIDE_SHARE, _SHARES_PER_BYTE = 80, 3 / 4
_LONGEST_NAME, _SHORTEST_NAME, _BYTES_OF_NAMES = 200, 20, 50_000
_THINNED = (Row.STEPS, Row.RANGES)


def answer(trace: Trace, request: WindowRequest) -> bytes:
    """Return what is in a window as JSON, which the text at the top of this module describes.

    Raises:
        InputError: the request asks for lanes that there are not, or for too many lanes or columns.
    """
    _check(trace, request)
    start = min(max(request.start_ns, 0), max(trace.end_ns - 1, 0))
    end = max(start + 1, min(request.end_ns, trace.end_ns))
    views = [LaneView(trace, place, request, start=start, end=end) for place in request.lanes]
    drawn, shared = _drawn(views)
    names = _names(trace, drawn)
    lanes = [
        packing.Lane(lane=place, rows=[*map(view.packed_marks, marks)], holes=view.packed_holes(most=most))
        for place, view, marks, most in zip(request.lanes, views, drawn, _holes_drawn(views), strict=True)
    ]
    arrays = sum(sum(row in view.sources for row in shared) + 2 * (view.holes is not None) for view in views)
    room = _MOST_BYTES - len(msgspec.json.encode((lanes, names)))
    columns = min(request.columns, end - start, _columns_in(room, arrays=arrays))
    return msgspec.json.encode(
        packing.Answer(
            start=start,
            end=end,
            columns=columns,
            lanes=_completed(lanes, views, shared=shared, columns=columns),
            names=names,
            marks=packing.Counted(
                shown=sum(len(one.places) for marks in drawn for one in marks),
                of=sum(view.count(row) for view in views for row in view.sources),
            ),
        )
    )


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


def _drawn(views: Sequence[LaneView]) -> tuple[list[list[Marks]], list[Row]]:
    """Return the marks of each lane, and the rows that become shares."""
    shared: list[Row] = []
    most = {Row.STEPS: _MOST_STEPS, Row.RANGES: _MOST_RANGES}
    for rows, limit in ((tuple(OPERATIONS), MOST_OPERATIONS_DRAWN), ((Row.CALLS,), _MOST_CALLS)):
        if sum(view.count(row) for view in views for row in rows) > limit:
            shared += rows
            most[Row.STEPS] += limit
        else:
            most |= dict.fromkeys(rows, limit)
    rooms = {
        row: _room([view.count(row) for view in views], most=limit) if row in _THINNED else [limit] * len(views)
        for row, limit in most.items()
    }
    drawn = [
        [view.marks(row, most=rooms[row][place]) for row in most if row in view.sources]
        for place, view in enumerate(views)
    ]
    return drawn, shared


def _holes_drawn(views: Sequence[LaneView]) -> list[int]:
    return _room([0 if view.holes is None else len(view.holes) for view in views], most=_MOST_HOLES)


def _room(counts: list[int], *, most: int) -> list[int]:
    """Return how many of a row's marks are drawn of each lane: all where they fit, else as many of each."""
    if len(counts) > _LANES_WITHOUT_LIMIT:
        most = most * _LANES_WITHOUT_LIMIT // len(counts)
    return counts if sum(counts) <= most else [max(1, most // len(counts))] * len(counts)


def _columns_in(room: int, *, arrays: int) -> int:
    """Return how many columns so many arrays of shares may have, to fit into bytes of JSON."""
    each = room // max(arrays, 1) - _BYTES_BESIDE_SHARE
    return max(_FEWEST_COLUMNS, int(each * _SHARES_PER_BYTE))


def _completed(
    lanes: Sequence[packing.Lane], views: Sequence[LaneView], *, shared: Sequence[Row], columns: int
) -> list[packing.Lane]:
    """Return lanes with their shares beside their marks; all shares are made at once, as each takes little."""
    edges = [view.columns(columns) for view in views]
    parts = [
        (place, row, busy)
        for place, view in enumerate(views)
        for row in (*shared, Row.HOLES)
        if (busy := view.covering(row)) is not None
    ]
    found: list[dict[Row, NDArray[np.uint8]]] = [{} for _ in views]
    if parts:
        table = shares([busy for _, _, busy in parts], [edges[place] for place, _, _ in parts])
        for (place, row, _), share in zip(parts, table, strict=True):
            found[place][row] = share
    return [view.completed(*one) for view, one in zip(views, zip(lanes, found, edges, strict=True), strict=True)]


def _names(trace: Trace, drawn: Sequence[Sequence[Marks]]) -> dict[int, str]:
    """Return the names of marks, all cut to one length at which they fit."""
    codes = [one.names for marks in drawn for one in marks]
    distinct = np.unique(np.concatenate(codes)).tolist() if codes else []
    longest = min(_LONGEST_NAME, max(_SHORTEST_NAME, _BYTES_OF_NAMES // max(len(distinct), 1)))
    return {code: _cut(trace.names[code], longest) for code in distinct}


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
