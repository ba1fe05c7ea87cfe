"""Single collectives of one kind, and speeds by size, from the frame of all of them."""

from __future__ import annotations

from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Protocol, cast

from dashboards.components.links import stretch_address
from dashboards.figures.collectives import Speed
from gapfinder.findings.words import lane_name
from gapfinder.render.table import NOTHING, Column, Kind, Table, filled, left_out
from gapfinder.units import format_bandwidth, format_bytes, format_count, format_duration, format_share, format_time

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from dashboards.data.opening import OpenProfile
    from gapfinder.explanations import CollectiveSummary
    from gapfinder.model import Analysis

_NOT_KNOWN = -1


class _Row(Protocol):
    """A row of the frame COLLECTIVES, of numpy's own numbers."""

    instance: int
    step: int
    lane: int
    start: int
    end: int
    exposed: int
    hidden: int
    wait: int
    transfer: int
    bytes: int
    late_lane: int
    algorithm_bandwidth: float
    bus_bandwidth: float
    ideal_share: float


def speeds_by_size(frame: pd.DataFrame) -> list[Speed]:
    """Return the median bus bandwidth of each operation and size; none where no payload tells."""
    known = frame[(frame["bytes"] > 0) & frame["bus_bandwidth"].notna() & (frame["bus_bandwidth"] > 0)]
    found = []
    for operation, rows in known.groupby("operation", observed=True):
        by_size = rows.groupby("bytes")["bus_bandwidth"]
        medians, counts = by_size.median(), by_size.size()
        found += [
            Speed(operation=str(operation), size_bytes=size, bandwidth=median, count=count)
            for size, median, count in zip(medians.index.tolist(), medians.tolist(), counts.tolist(), strict=True)
        ]
    return found


@dataclass(frozen=True, slots=True)
class Instances:
    """The table of single collectives, and for each row where it is on the timeline."""

    table: Table
    links: tuple[str, ...]


def longest_instances(profile: OpenProfile, kind: CollectiveSummary, *, limit: int) -> Instances | None:
    """Return the longest collectives of one operation and communicator, each as its longest lane saw it."""
    frame = profile.trace.collectives
    mine = frame[(frame["operation"] == kind.operation) & (frame["communicator"] == kind.communicator)]
    if mine.empty:
        return None
    lengths = mine["end"] - mine["start"]
    longest = mine.loc[lengths.groupby(mine["instance"]).idxmax()].assign(length=lengths)
    shown = longest.sort_values(["length", "instance"], ascending=[False, True]).head(limit)
    analysis = profile.analysis
    rows = cast("list[_Row]", list(shown.itertuples(index=False)))
    caption = "Each as the lane saw it on which it took longest; wait is what that lane had to wait for the last one."
    table = Table(
        title=f"{kind.operation}: the longest",
        caption=caption + left_out(len(rows), len(longest), "collective", "the longest"),
        columns=(
            Column("no."),
            Column("step"),
            Column("lane", Kind.WORD),
            *(Column(name) for name in ("start", "length", "exposed", "hidden", "wait", "transfer", "size")),
            *(Column(name) for name in ("algorithm bandwidth", "bus bandwidth", "of ideal")),
            Column("came last", Kind.WORD),
        ),
        rows=tuple(_cells(analysis, row) for row in rows),
    )
    links = tuple(
        stretch_address(profile, lane=int(row.lane), start_ns=int(row.start), end_ns=int(row.end)) for row in rows
    )
    return Instances(filled(table), links)


def _cells(analysis: Analysis, row: _Row) -> tuple[str, ...]:
    return (
        format_count(row.instance),
        _known(row.step, str),
        lane_name(analysis, row.lane),
        format_time(row.start),
        format_duration(row.end - row.start),
        *(_known(ns, format_duration) for ns in (row.exposed, row.hidden, row.wait, row.transfer)),
        _known(row.bytes, format_bytes),
        *(_number(one, format_bandwidth) for one in (row.algorithm_bandwidth, row.bus_bandwidth)),
        _number(row.ideal_share, format_share),
        _known(row.late_lane, lambda lane: lane_name(analysis, lane)),
    )


def _known(value: int, words: Callable[[int], str]) -> str:
    return NOTHING if value == _NOT_KNOWN else words(int(value))


def _number(value: float, words: Callable[[float], str]) -> str:
    return NOTHING if isnan(value) else words(float(value))
