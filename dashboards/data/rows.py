"""The rows of a lane on the timeline, and how a stretch of it is asked for."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from dashboards.data.trace import Kind

if TYPE_CHECKING:
    from gapfinder.explanations import Cause


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


OPERATIONS = {
    Row.COMPUTE: Kind.COMPUTE,
    Row.COMMUNICATION: Kind.COMMUNICATION,
    Row.COPIES: Kind.COPY,
    Row.GRAPHS: Kind.GRAPH,
}
"""The rows of GPU operations."""
