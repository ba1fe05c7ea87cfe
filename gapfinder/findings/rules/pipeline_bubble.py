"""pipeline-bubble: a stage waits for its neighbour and has nothing else to do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Cause
from gapfinder.findings.lost import amount, finding, lost_by_lane, mostly_of, shares_by_lane
from gapfinder.findings.page import Page

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="pipeline-bubble",
    title="Pipeline stages wait for their neighbours",
    meaning=(
        "A lane sits in a send or receive until its neighbour in the pipeline has something for it. With p stages "
        "and m micro-batches of equal length, (p-1)/(m+p-1) of a step is such waiting; uneven stages add to it."
    ),
    measured=(
        "Hole time in send and receive kernels in which the lane only waited. Those launched in an NVTX range of a "
        "collective (nccl:all_to_all) are left out; without such ranges an all-to-all, which NCCL makes of sends, is "
        "taken for them."
    ),
    change=(
        "Use more micro-batches: with 4 stages, 4 micro-batches leave 43 % of bubble, 16 leave 16 %.",
        (
            "Use an interleaved or zero-bubble schedule (Megatron: --num-layers-per-virtual-pipeline-stage; PyTorch:"
            " ScheduleInterleaved1F1B, ScheduleZBVZeroBubble)."
        ),
        "Balance the stages: the embedding and the output layer count as layers too.",
        "Use fewer stages: if data parallel or ZeRO-2 fits, it has no bubble.",
    ),
    beware="that the link between stages is slow: the transfer itself is charged to other rules.",
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where stages wait for each other."""
    lost = lost_by_lane(analysis, Cause.PIPELINE_BUBBLE)
    if not lost:
        return None
    total = sum(lost.values())
    return finding(
        analysis,
        PAGE,
        lost_ns=total,
        detail=f"{amount(analysis, total)}{shares_by_lane(analysis, lost)}.",
        lane=mostly_of(analysis, lost),
    )
