"""zero-overlap-off: ZeRO or FSDP gathers parameters when they are needed, and compute waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.findings.exposed import exposed_bill, is_small, sharding_operations
from gapfinder.findings.lost import amount, finding
from gapfinder.findings.page import Page
from gapfinder.findings.words import listed
from gapfinder.units import format_duration, format_share

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="zero-overlap-off",
    title="Gathers of sharded parameters (ZeRO, FSDP) are exposed",
    meaning=(
        "Parameters are sharded and gathered before use. The gathers, or the reduce-scatters of their gradients, run"
        " while nothing computes: prefetching is off or not deep enough, the first gather of each direction has "
        "nothing before it, or layers are too small to hide the next gather."
    ),
    measured="Exposed transfer in holes of all-gathers, and of reduce-scatters in a job that gathers.",
    change=(
        (
            "FSDP1: keep backward_prefetch=BackwardPrefetch.BACKWARD_PRE (the default), and set forward_prefetch=True "
            "where modules always run in the same order; try limit_all_gathers=False if memory allows. FSDP2: "
            "set_modules_to_forward_prefetch, set_modules_to_backward_prefetch."
        ),
        (
            "DeepSpeed: set overlap_comm, contiguous_gradients and reduce_scatter to true and raise "
            "stage3_prefetch_bucket_size."
        ),
        (
            "Wrap larger units (one transformer block, not one linear layer), and keep small ones whole "
            "(stage3_param_persistence_threshold)."
        ),
        (
            "If it fits, shard less: ZeRO-2 or SHARD_GRAD_OP gathers once a step; hybrid sharding keeps gathers in "
            "the machine."
        ),
    ),
    beware=(
        "that prefetching is off: even a perfect schedule exposes the first gather of forward and the last scatter. "
        "Nor that it is parameters which are gathered: sequence parallelism gathers and scatters activations in every "
        "layer, and names of kernels do not tell one from the other."
    ),
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where gathers or their scatters are exposed."""
    lost = exposed_bill(analysis).get(PAGE.code, 0)
    sharding = sharding_operations(analysis)
    mine = [one for one in analysis.collectives if one.operation in sharding and not is_small(one)]
    told = [
        f"{one.operation} {format_duration(one.exposed_ns)} exposed of {format_duration(one.total_ns)} "
        f"({format_share(one.exposed_ns / one.total_ns)})"
        for one in mine
        if one.total_ns
    ]
    return finding(analysis, PAGE, lost_ns=lost, detail=f"{amount(analysis, lost)}: {listed(told)}.")
