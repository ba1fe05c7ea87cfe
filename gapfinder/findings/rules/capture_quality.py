"""capture-quality: what is missing from the capture, or was changed by capturing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Cause
from gapfinder.findings.lost import finding, lost_to, share_of
from gapfinder.findings.page import Page
from gapfinder.units import format_count, format_share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

MANY_DROPPED = 0.001
MANY_UNLAUNCHED = 0.01
MUCH_OVERHEAD = 0.01
MUCH_UNKNOWN = 0.10
FEW_STEPS = 5

PAGE = Page(
    code="capture-quality",
    title="The capture is not as good as it could be",
    meaning=(
        "Something was not recorded, was recorded too shortly, or the profiler itself took time. The numbers are "
        "right for what is there; they may not be the whole truth."
    ),
    measured=(
        "Rows without times (0.1 % or more), operations without their launch call (1 %), profiler overhead (1 % of "
        "the time), fewer than 5 complete steps, ranks missing below the world size or the highest, collectives "
        "without their partners, no CUDA API calls, hole time without a cause (10 %). Lost is hole time charged to the "
        "profiler."
    ),
    change=(
        (
            "Capture 10 to 30 steps after warm-up, all ranks, with --trace=cuda,nvtx,osrt and an NVTX range for each"
            " step."
        ),
        "Against overhead leave out --sample and --backtrace, and NVTX ranges in inner loops.",
        (
            "Against lost rows end the capture in the program (--capture-range=cudaProfilerApi) and let it exit by "
            "itself."
        ),
    ),
    beware="that the findings are wrong: profiler overhead is never charged to the program.",
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where the capture lacks something."""
    faults = list(_faults(analysis))
    if not faults:
        return None
    return finding(
        analysis,
        PAGE,
        lost_ns=lost_to(analysis, Cause.PROFILER_OVERHEAD),
        detail=f"{'; '.join(faults)}.",
        always=True,
    )


def _faults(analysis: Analysis) -> Iterator[str]:
    ops = sum(lane.ops for lane in analysis.lanes)
    dropped = sum(lane.dropped_ops for lane in analysis.lanes)
    if dropped >= MANY_DROPPED * (ops + dropped) and dropped:
        yield f"{format_share(dropped / (ops + dropped))} of the GPU rows have no usable times"
    if not analysis.coverage.runtime:
        yield "no CUDA API calls were captured, so no hole's host side is known"
    unlaunched = sum(lane.host.unlaunched_ops for lane in analysis.lanes)
    if unlaunched > MANY_UNLAUNCHED * ops and analysis.coverage.runtime:
        yield f"{format_share(unlaunched / ops)} of the operations have no launch call in the report"
    overhead = share_of(analysis, sum(lane.host.overhead_ns for lane in analysis.lanes))
    if overhead >= MUCH_OVERHEAD:
        yield f"the profiler itself took {format_share(overhead)} of the time"
    yield from _too_little(analysis)


def _too_little(analysis: Analysis) -> Iterator[str]:
    counts = [lane.steps.count if lane.steps else 0 for lane in analysis.lanes]
    if min(counts) < FEW_STEPS:
        yield f"only {format_count(min(counts), 'complete step')}" if min(counts) else "steps are not known"
    ranks = {lane.rank for lane in analysis.lanes if lane.rank is not None}
    expected = max(analysis.world_size or 0, max(ranks, default=-1) + 1)
    if ranks and len(ranks) < expected:
        yield f"{format_count(expected - len(ranks), 'rank')} of {format_count(expected)} missing"
    unmatched = sum(one.unmatched for one in analysis.collectives)
    if unmatched:
        yield f"{format_count(unmatched, 'collective operation')} found no partner on other lanes"
    holes = sum(lane.holes.total_ns for lane in analysis.measured_lanes().values())
    unknown = lost_to(analysis, Cause.UNKNOWN)
    if holes and unknown >= MUCH_UNKNOWN * holes:
        yield f"{format_share(unknown / holes)} of the hole time has no known cause"
