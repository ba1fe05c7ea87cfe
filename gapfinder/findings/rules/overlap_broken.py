"""overlap-broken: gradients are synchronised only when backward is over."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from gapfinder.findings.exposed import exposed_bill
from gapfinder.findings.lost import amount, finding
from gapfinder.findings.page import Page
from gapfinder.units import format_duration, format_mean_count

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="overlap-broken",
    title="Gradients are synchronised only after backward",
    meaning=(
        "The first gradient collective of a step (all-reduce, reduce-scatter, reduce) starts when the last backward "
        "kernel has ended, so no compute is left to hide it and every step pays for the whole transfer. The usual "
        "reason is an all-reduce by hand after a custom backward, a backward inside no_sync(), or a wrapper that waits "
        "for all gradients."
    ),
    measured=(
        "On the median lane the first gradient collective starts at or after the end of backward. Lost is the "
        "exposed transfer of gradient collectives in holes."
    ),
    change=(
        (
            "Let DistributedDataParallel synchronise: call loss.backward() on the wrapped model's output and remove "
            "the all-reduce by hand, so that its hooks start each bucket during backward."
        ),
        (
            "Where you must reduce by hand, do it with async_op=True from Tensor.register_post_accumulate_grad_hook "
            "and wait just before optimizer.step(); in DeepSpeed set overlap_comm to true."
        ),
        "Do not run the last backward of a step inside no_sync().",
    ),
    beware="that the link is slow: the same transfer would cost nothing behind backward.",
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where gradient collectives start after backward."""
    lost = exposed_bill(analysis).get(PAGE.code, 0)
    if not lost:
        return None
    number = median(one.per_step for one in analysis.buckets)
    length = round(median(one.median_ns for one in analysis.buckets))
    backward = round(median(one.backward_ns for one in analysis.buckets))
    return finding(
        analysis,
        PAGE,
        lost_ns=lost,
        detail=(
            f"{amount(analysis, lost)}: {format_mean_count(number, 'gradient collective')} of "
            f"{format_duration(length)} a step, after a backward of {format_duration(backward)} that hides nothing."
        ),
    )
