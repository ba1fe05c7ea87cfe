"""allocator-churn: GPU memory is allocated and freed again and again in steady state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Cause
from gapfinder.findings.lost import MENTIONED_SHARE, amount, finding, lost_by_lane, mostly_of, share_of
from gapfinder.findings.page import Page
from gapfinder.units import format_count, format_duration

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="allocator-churn",
    title="GPU memory is allocated and freed in every few steps",
    meaning=(
        "After warm-up a training should not call cudaMalloc, cudaFree or cudaHostRegister: PyTorch's caching "
        "allocator and NCCL keep what they have. Where they do, memory is fragmented or nearly full, or buffers "
        "(communication buffers among them) are made anew each time. Each such call waits for the GPU, and over days"
        " it gets worse."
    ),
    measured=(
        "Hole time in which the launching thread was in such a call; the finding also speaks where the calls take "
        "0.1 % of the time without leaving holes."
    ),
    change=(
        (
            "Set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True (newer versions call it PYTORCH_ALLOC_CONF), and "
            "remove torch.cuda.empty_cache() from the loop."
        ),
        (
            "Keep shapes the same from step to step (pad to a few lengths), and leave some memory free: near the "
            "limit every step frees and allocates."
        ),
        (
            "Make process groups and communication buffers once and keep them (contiguous_gradients in DeepSpeed, "
            "gradient_as_bucket_view=True in DDP)."
        ),
        "Watch torch.cuda.memory_stats() for num_alloc_retries and inactive_split_bytes.",
    ),
    beware="that calls in the first step matter: those are warm-up and are not counted.",
)
_WITHOUT_STEPS = "in the whole capture (steps are not known, so loading the model may be among them)"


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where allocations leave holes or take noteworthy time."""
    lost = lost_by_lane(analysis, Cause.ALLOCATOR)
    calls = sum(lane.host.allocator_calls for lane in analysis.lanes)
    spent = sum(lane.host.allocator_ns for lane in analysis.lanes)
    total = sum(lost.values())
    has_steps = all(lane.steps for lane in analysis.lanes)
    when = "after the first step" if has_steps else _WITHOUT_STEPS
    return finding(
        analysis,
        PAGE,
        lost_ns=total,
        title=None if has_steps else "GPU memory is allocated and freed during the capture",
        detail=(f"{amount(analysis, total)}; {format_count(calls, 'call')} {when} took {format_duration(spent)}."),
        lane=mostly_of(analysis, lost),
        always=share_of(analysis, spent) >= MENTIONED_SHARE,
    )
