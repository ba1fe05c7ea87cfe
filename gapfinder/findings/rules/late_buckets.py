"""late-buckets: gradient synchronisation starts late in backward, or its last bucket is too large to hide."""

from __future__ import annotations

from math import ceil
from statistics import median
from typing import TYPE_CHECKING

from gapfinder.findings.exposed import exposed_bill, late_buckets
from gapfinder.findings.lost import amount, finding
from gapfinder.findings.page import Page
from gapfinder.findings.words import lane_names
from gapfinder.units import format_duration, format_mean_count, format_share

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="late-buckets",
    title="The last gradient bucket is synchronised after backward",
    meaning=(
        "Synchronisation overlaps with backward and would fit into it, but a part is left when backward ends: "
        "buckets are so large that the first is full late, or the last one, which nothing can hide, is large."
    ),
    measured=(
        "On half of the lanes or more the gradient collectives of a step are shorter than backward, and yet they start "
        "in its later half or run on after it. Lost is their exposed transfer in holes; where they start early, no "
        "more of it than runs after backward."
    ),
    change=(
        ("Try a smaller bucket_cap_mb in DistributedDataParallel (25 by default; try 10 and 50 and measure)."),
        "Set gradient_as_bucket_view=True, and static_graph=True where the graph does not change.",
        ("In DeepSpeed lower reduce_bucket_size and keep overlap_comm, contiguous_gradients and reduce_scatter on."),
        ("Register modules in the order in which forward runs them: buckets are filled in the reverse order."),
    ),
    beware="that no tail may remain: the bucket of the first layers always comes last. Below 1 % leave it.",
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where a tail of gradient synchronisation is exposed that backward could have hidden."""
    lost = exposed_bill(analysis).get(PAGE.code, 0)
    if not lost:
        return None
    late = late_buckets(analysis)
    start = median(one.start_into_backward for one in late)
    after = ceil(median(one.after_backward_ns for one in late))  # half a ns is more than none
    number = median(one.per_step for one in late)
    where = "" if len(late) == len(analysis.lanes) else f" on {lane_names(analysis, [one.lane for one in late])}"
    return finding(
        analysis,
        PAGE,
        lost_ns=lost,
        title=None if after else "Gradient synchronisation starts late in backward",
        detail=(
            f"{amount(analysis, lost)}: {format_mean_count(number, 'gradient collective')} a step{where}; the first "
            f"starts {_when(start)}{_run_on(after)}."
        ),
    )


def _when(start_into_backward: float) -> str:
    over = start_into_backward >= 1
    return "after backward" if over else f"when {format_share(start_into_backward)} of backward is over"


def _run_on(after_ns: int) -> str:
    return f", and {format_duration(after_ns)} run after its end" if after_ns else ""
