"""Collectives by instance and by step as tables for people."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gapfinder.analysis.tracks import NOT_KNOWN
from gapfinder.findings.words import lane_name
from gapfinder.render.table import NOTHING, Column, Kind, Table, filled, left_out
from gapfinder.units import format_bandwidth, format_bytes, format_count, format_duration, format_share, format_time

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping

    import pandas as pd

    from gapfinder.explanations import StepCommunication
    from gapfinder.model import Analysis


def instance_table(analysis: Analysis, frame: pd.DataFrame, *, of: int) -> Table | None:
    """Return one row per collective and lane; None without any.

    Args:
        analysis: the job.
        frame: the rows of COLLECTIVES to show.
        of: how many rows there are.
    """
    if not len(frame):
        return None
    names = [lane_name(analysis, index) for index in range(len(analysis.lanes))]
    several = len(frame["communicator"].unique()) > 1
    rows = [_cells(row, names=names, several=several) for row in frame.to_dict("records")]
    columns = (
        *(Column(name) for name in ("no.", "step")),
        Column("operation", Kind.WORD),
        Column("group", Kind.WORD),
        Column("lane", Kind.WORD),
        *(Column(name) for name in ("start", "length", "exposed", "hidden", "wait", "transfer", "size")),
        *(Column(name) for name in ("algorithm bandwidth", "bus bandwidth", "ideal", "of ideal")),
        Column("seen", Kind.WORD),
    )
    return filled(
        Table(
            title="Collectives",
            caption="Each collective as each lane saw it; wait is what it had to wait for the last lane."
            + _not_told(analysis, frame)
            + left_out(len(frame), of, "row", "those of the most exposed collectives"),
            columns=columns,
            rows=tuple(rows),
        )
    )


def _cells(row: Mapping[Hashable, Any], *, names: list[str], several: bool) -> tuple[str, ...]:
    def known(name: str) -> int | None:
        value = int(row[name])
        return None if value == NOT_KNOWN else value

    def duration(name: str) -> str:
        value = known(name)
        return NOTHING if value is None else format_duration(value)

    def number(name: str) -> float | None:
        value = float(row[name])
        return None if value != value else value  # noqa: PLR0124 (NaN)

    step, size, share = known("step"), known("bytes"), number("ideal_share")
    bandwidths = (number(name) for name in ("algorithm_bandwidth", "bus_bandwidth"))
    start, end = int(row["start"]), int(row["end"])
    marks = (
        "" if row["is_matched"] or len(names) == 1 else "alone",
        "came last" if row["late_lane"] == row["lane"] else "",
        "grouped" if row["is_grouped"] else "",
    )
    return (
        format_count(int(row["instance"])),
        NOTHING if step is None else str(step),
        str(row["operation"]),
        str(row["communicator"]) if several else NOTHING,
        names[int(row["lane"])],
        format_time(start),
        format_duration(end - start),
        *(duration(name) for name in ("exposed", "hidden", "wait", "transfer")),
        NOTHING if size is None else format_bytes(size),
        *(NOTHING if one is None else format_bandwidth(one) for one in bandwidths),
        duration("ideal"),
        NOTHING if share is None else format_share(share),
        ", ".join(filter(None, marks)) or NOTHING,
    )


def _not_told(analysis: Analysis, frame: pd.DataFrame) -> str:
    """Return why there are no waits, bytes or ideal times, where there are none."""
    told, link = [], ""
    if not frame["is_matched"].any():
        told.append("waiting cannot be told, as no lane has a partner here")
    if (frame["bytes"] == NOT_KNOWN).all():
        told.append("sizes and bandwidths need NCCL's NVTX payloads")
        if analysis.link is not None and analysis.link.bandwidth is not None and not analysis.link.is_detected:
            link = " The bandwidth given for the link changes nothing without them."
    elif analysis.link is not None:
        link = f" Ideal times are those of the link: {analysis.link.reason}."
        if analysis.link.bandwidth is None:
            link = f" There are no ideal times: {analysis.link.reason}."
    return (f" Not measured: {'; '.join(told)}." if told else "") + link


def most_exposed_steps(analysis: Analysis, *, limit: int | None) -> list[StepCommunication]:
    """Return the steps with most exposed communication, in order of number."""
    shown = sorted(analysis.collective_steps, key=lambda one: (-one.exposed_ns, one.number))[:limit]
    return sorted(shown, key=lambda one: one.number)


def step_table(analysis: Analysis, *, limit: int) -> Table | None:
    """Return one row per step, over lanes; None without any."""
    steps = analysis.collective_steps
    shown = most_exposed_steps(analysis, limit=limit)
    if not shown:
        return None
    return filled(
        Table(
            title="Communication by step",
            caption="Complete steps, summed over the lanes that have them; waits are those of what began in the step."
            + left_out(len(shown), len(steps), "step", "the most exposed"),
            columns=tuple(
                Column(name)
                for name in (
                    *("step", "lanes", "collectives", "communication", "hidden", "exposed", "overlap", "wait"),
                    "transfer",
                )
            ),
            rows=tuple(_step_cells(one) for one in shown),
        )
    )


def _step_cells(one: StepCommunication) -> tuple[str, ...]:
    return (
        str(one.number),
        *(format_count(count) for count in (one.lanes, one.instances)),
        *(format_duration(ns) for ns in (one.communication_ns, one.hidden_ns, one.exposed_ns)),
        NOTHING if one.overlap_ratio is None else format_share(one.overlap_ratio),
        *(NOTHING if ns is None else format_duration(ns) for ns in (one.wait_ns, one.transfer_ns)),
    )
