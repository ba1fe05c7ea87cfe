"""What the lanes and reports of a job are together: sums, kernel names to check, and what was captured."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from gapfinder.budget import Budget
from gapfinder.model import NO_COMMUNICATION, Coverage, DecidedName, Total

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gapfinder.analysis.measure import MeasuredReport
    from gapfinder.model import Lane

_NOTEWORTHY_SHARE = 0.01


def total_of(lanes: Sequence[Lane]) -> Total:
    """Sum the lanes; an overlap ratio needs every lane's communication to be visible."""
    parts = {field.name: sum(getattr(lane.budget, field.name) for lane in lanes) for field in fields(Budget)}
    budget = Budget(**parts)
    hidden_by = [
        lane.overlap_reason for lane in lanes if lane.overlap_ratio is None and lane.overlap_reason != NO_COMMUNICATION
    ]
    reason = hidden_by[0] if hidden_by else None
    if reason is None and budget.communication_ns == 0:
        reason = lanes[0].overlap_reason
    measured = [
        (lane.overlap_ratio, -lane.budget.exposed_ns, at)
        for at, lane in enumerate(lanes)
        if lane.overlap_ratio is not None
    ]
    return Total(
        lanes=len(lanes),
        budget=budget,
        idle_reason=next((lane.idle_reason for lane in lanes if lane.idle_reason), None),
        overlap_ratio=None if reason else budget.overlap_ratio,
        overlap_reason=reason,
        worst_lane=min(measured)[-1] if measured else None,
    )


def decided_names(reports: Sequence[MeasuredReport]) -> tuple[DecidedName, ...]:
    """Return the kernel names above 1 % of kernel time that a pattern decided or that look like communication."""
    times: dict[str, int] = {}
    for report in reports:
        for name, time in report.name_times.items():
            times[name] = times.get(name, 0) + time
    decisions = {name: decision for report in reports for name, decision in report.decisions.items()}
    total = sum(times.values())
    return tuple(
        DecidedName(
            name=name,
            pattern=decisions[name].pattern,
            is_communication=decisions[name].is_communication,
            share=time / total,
        )
        for name, time in sorted(times.items(), key=lambda item: (-item[1], item[0]))
        if time > _NOTEWORTHY_SHARE * total
        and (decisions[name].pattern is not None or decisions[name].looks_like_communication)
    )


def joined_coverage(reports: Sequence[MeasuredReport], *, files: Sequence[str], notes: Iterable[str]) -> Coverage:
    """Return what any of the reports holds; of several reports each note says which one it is about.

    `notes` are about all of them and come last.
    """
    found = [report.coverage for report in reports]
    of_reports = (
        f"{file}: {note}" if len(reports) > 1 else note
        for file, coverage in zip(files, found, strict=True)
        for note in coverage.notes
    )
    return Coverage(
        kernels=any(one.kernels for one in found),
        copies=any(one.copies for one in found),
        graphs=any(one.graphs for one in found),
        nvtx=any(one.nvtx for one in found),
        runtime=any(one.runtime for one in found),
        osrt=any(one.osrt for one in found),
        notes=(*of_reports, *notes),
    )
