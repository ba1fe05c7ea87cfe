"""gc-pause: Python's garbage collector stops the launching thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Cause
from gapfinder.findings.lost import amount, finding, lost_by_lane, mostly_of
from gapfinder.findings.page import Page
from gapfinder.findings.words import lane_names
from gapfinder.units import format_duration

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="gc-pause",
    title="Garbage collection stops the launches",
    meaning=(
        "Python's cyclic garbage collector runs in the launching thread and can take many ms with large object "
        "graphs. It strikes each process at another time, so every pause on one rank makes all others wait."
    ),
    measured="Hole time in which the launching thread was in a garbage collection range.",
    change=(
        (
            "After warm-up call gc.collect(); gc.freeze(); gc.disable(), and gc.collect() every N steps on all ranks"
            " in the same step."
        ),
        "Or raise the thresholds: gc.set_threshold(50_000, 50, 50).",
    ),
    beware=("that only this lane loses: what the others wait for it is charged to straggler or exposed-collective."),
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where collections leave holes."""
    lost = lost_by_lane(analysis, Cause.GARBAGE_COLLECTION)
    if not lost:
        return None
    total = sum(lost.values())
    collected = sum(lane.host.gc_ns for lane in analysis.lanes)
    names = lane_names(analysis, list(lost))
    detail = f"{amount(analysis, total)}, on {names}; collections took {format_duration(collected)} in all."
    return finding(analysis, PAGE, lost_ns=total, detail=detail, lane=mostly_of(analysis, lost))
