"""many-small-collectives: latency, not bandwidth, is what the communication costs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.findings.exposed import exposed_bill, is_small
from gapfinder.findings.lost import amount, finding
from gapfinder.findings.page import Page
from gapfinder.findings.words import listed
from gapfinder.units import format_count, format_duration, format_mean_count

if TYPE_CHECKING:
    from gapfinder.explanations import CollectiveSummary, Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="many-small-collectives",
    title="Many small collectives cost their latency",
    meaning=(
        "An operation runs often and each time shortly. Each costs a launch and one trip around all ranks, whatever "
        "its size, so a hundred small ones take far longer than one large one."
    ),
    measured=(
        "An operation runs 50 times a step or more (500 times where no steps are known) and takes less than 100 µs "
        "on average, waiting taken out. Lost is its exposed transfer in holes, and what it exposes in blanks too short "
        "for one."
    ),
    change=(
        (
            "Fuse them: raise bucket_cap_mb, reduce one flat tensor instead of one per parameter, or group them "
            "(torch.distributed's coalescing manager, ncclGroupStart and ncclGroupEnd)."
        ),
        "Reduce metrics and gradient norms once a step as one tensor, or only every N steps.",
        "In FSDP and ZeRO-3 wrap larger units.",
    ),
    beware=(
        "that tensor parallelism is wrong: its several all-reduces a layer are small by nature; keep it inside NVLink."
    ),
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where an operation is small and frequent."""
    lost = exposed_bill(analysis).get(PAGE.code, 0)
    told = listed([_described(one) for one in analysis.collectives if is_small(one)])
    return finding(analysis, PAGE, lost_ns=lost, detail=f"{amount(analysis, lost)}: {told}.")


def _described(one: CollectiveSummary) -> str:
    often = format_count(one.instances) if one.per_step is None else f"{format_mean_count(one.per_step)} a step"
    return f"{one.operation} {often}, {format_duration(round(one.usual_ns))} each"
