"""checkpoint-pause: training stands still while a checkpoint is written."""

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
    code="checkpoint-pause",
    title="Training stands still for a checkpoint",
    meaning=(
        "The launching thread copies the state to the host and writes it to disk before it goes on. Where only one "
        "rank writes, all others wait for it at their next collective."
    ),
    measured="Hole time in which the launching thread was in a checkpoint range.",
    change=(
        (
            "Save in the background: copy the state into pinned CPU memory, go on, and write from there "
            "(torch.distributed.checkpoint.async_save)."
        ),
        "Let every rank write its own shard, to a temporary name that is renamed when whole.",
        "Save less often: choose the interval by what a restart costs.",
    ),
    beware=(
        "that a captured step is typical: a checkpoint inside a short capture weighs more than over a whole training."
    ),
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where checkpoints leave holes."""
    lost = lost_by_lane(analysis, Cause.CHECKPOINT)
    if not lost:
        return None
    total = sum(lost.values())
    names = lane_names(analysis, list(lost))
    written = sum(lane.host.checkpoint_ns for lane in analysis.lanes)
    detail = f"{amount(analysis, total)}, on {names}; checkpoints took {format_duration(written)} in all."
    return finding(analysis, PAGE, lost_ns=total, detail=detail, lane=mostly_of(analysis, lost))
