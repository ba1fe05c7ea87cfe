"""Joins what was measured in the stretches of a lane, and makes the lane's results of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.causes import ChargedHoles
from gapfinder.analysis.host_activity import joined_activity
from gapfinder.analysis.intervals import merge
from gapfinder.analysis.lane import LanePart
from gapfinder.analysis.steps import NO_COMPLETE_STEP, steps_of
from gapfinder.analysis.timeline import as_budgets
from gapfinder.model import NO_COMMUNICATION, Gaps, Holes, Lane, Steps
from gapfinder.tables import process_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.analysis.buckets import Extents
    from gapfinder.analysis.lanes import LaneOperations
    from gapfinder.analysis.report import Report
    from gapfinder.analysis.survey import Scope
    from gapfinder.budget import Budget, Window

GRAPHS_HIDE_OVERLAP = (
    "CUDA graphs were traced whole, so communication inside them is not visible; capture with --cuda-graph-trace=node"
)
NAMES_NOT_CAPTURED = "kernel names were not captured, so communication cannot be told from compute"
SINGLE_STREAM = "communication and compute share one stream, so they cannot overlap"


@dataclass(frozen=True, slots=True)
class Overlap:
    """An overlap ratio, or why there is none; `reason` beside a ratio explains it."""

    ratio: float | None
    reason: str | None


def joined_parts(parts: Sequence[LanePart], *, top: int) -> LanePart:
    """Return what was measured in all stretches, given in order; of the holes in full the `top` longest are kept."""
    if len(parts) == 1:
        return parts[0]
    holes = [hole for part in parts for hole in part.holes.top]
    longest = sorted(range(len(holes)), key=lambda place: (-holes[place].duration_ns, holes[place].start_ns))[:top]
    totals = parts[0].totals
    for part in parts[1:]:
        totals += part.totals
    return LanePart(
        kernels=sum(part.kernels for part in parts),
        ops=sum(part.ops for part in parts),
        totals=totals,
        parts=np.sum([part.parts for part in parts], axis=0),
        graph_times=np.sum([part.graph_times for part in parts], axis=0),
        peer_copy_ns=sum(part.peer_copy_ns for part in parts),
        gaps=_joined_gaps([part.gaps for part in parts]),
        holes=Holes(
            min_gap_ns=parts[0].holes.min_gap_ns,
            count=sum(part.holes.count for part in parts),
            total_ns=sum(part.holes.total_ns for part in parts),
            top=tuple(holes[place] for place in longest),
        ),
        charged=ChargedHoles.joined([part.charged for part in parts], top=longest),
        activity=joined_activity([part.activity for part in parts]),
        clocks=np.concatenate([part.clocks for part in parts]),
        computed=merge(*(part.computed for part in parts)),
        backward=_joined_extents([part.backward for part in parts if part.backward is not None]),
    )


def _joined_gaps(gaps: Sequence[Gaps]) -> Gaps:
    return Gaps(
        min_gap_ns=gaps[0].min_gap_ns,
        count=sum(one.count for one in gaps),
        total_ns=sum(one.total_ns for one in gaps),
        longest_ns=max(one.longest_ns for one in gaps),
    )


def _joined_extents(extents: Sequence[Extents]) -> Extents | None:
    if not extents:
        return None
    return np.min([first for first, _ in extents], axis=0), np.max([last for _, last in extents], axis=0)


def lane_of(  # noqa: PLR0913 (each from another source)
    part: LanePart,
    operations: LaneOperations,
    *,
    window: Window,
    scope: Scope,
    report: Report,
    gpu_name: str | None,
) -> Lane:
    """Return a lane's results, by all that was measured of it; what only a look at all lanes tells is left empty.

    Of `operations` only the place and the dropped rows are looked at.
    """
    (budget,) = as_budgets(part.parts[:1])
    idle_reason = report.unseen_work.get(operations.process)
    overlap = _overlap(part, budget, scope=scope, report=report)
    steps = _steps(part, scope=scope, is_visible=idle_reason is None and report.profile.has_kernel_names)
    return Lane(
        file="",
        pid=process_id(operations.process),
        device=operations.device,
        rank=report.rank(operations.process),
        gpu_name=gpu_name,
        shares_gpu_with=(),
        window=window,
        kernels=part.kernels,
        ops=part.ops,
        dropped_ops=operations.dropped,
        budget=budget,
        idle_reason=idle_reason,
        overlap_ratio=overlap.ratio,
        overlap_reason=overlap.reason,
        peer_copy_ns=part.peer_copy_ns,
        gaps=part.gaps,
        holes=part.holes,
        causes={},
        host=part.activity,
        steps=steps,
        steps_reason=None if steps else scope.steps_reason or NO_COMPLETE_STEP,
    )


def _steps(part: LanePart, *, scope: Scope, is_visible: bool) -> Steps | None:
    if scope.steps is None:
        return None
    return steps_of(scope.steps, parts=part.parts[1:], graph_times=part.graph_times[1:], is_overlap_visible=is_visible)


def _overlap(part: LanePart, budget: Budget, *, scope: Scope, report: Report) -> Overlap:
    """Return hidden / communication, unless graphs hide it or there is no communication."""
    idle_reason = report.unseen_work.get(scope.process)
    if idle_reason is not None:
        return Overlap(None, idle_reason)
    if not report.profile.has_kernel_names:
        return Overlap(None, NAMES_NOT_CAPTURED)
    if part.graph_times[0]:
        return Overlap(None, GRAPHS_HIDE_OVERLAP)
    if budget.overlap_ratio is None:
        return Overlap(None, NO_COMMUNICATION)
    return Overlap(budget.overlap_ratio, SINGLE_STREAM if scope.survey.is_single_stream else None)
