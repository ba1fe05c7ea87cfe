"""accumulation-not-skipping-sync: gradients are synchronised in every micro-step of an accumulated step."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from gapfinder.findings.exposed import exposed_bill, micro_steps, synchronises_every_micro_step
from gapfinder.findings.lost import amount, finding
from gapfinder.findings.page import Page
from gapfinder.units import format_mean_count

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="accumulation-not-skipping-sync",
    title="Gradients are synchronised in every micro-step",
    meaning=(
        "A step has several forward and backward passes, and gradient collectives run before the last one. "
        "Accumulation is meant to synchronise once a step; synchronising N times costs N times the bytes and gives "
        "the same result."
    ),
    measured=(
        "More than one micro-step, at least one gradient collective for each, and the first one starts before the "
        "last micro-step. Lost is the exposed gradient transfer times 1 - 1/N."
    ),
    change=(
        (
            "Run all but the last backward of a step inside model.no_sync() (DDP, FSDP1), or with "
            "set_requires_gradient_sync(False) (FSDP2)."
        ),
        (
            "In Accelerate use accelerator.accumulate(model). In DeepSpeed set gradient_accumulation_steps and call "
            "engine.step() every time; that skips the exchange with ZeRO-0 and 1 only, for ZeRO-2 and 3 reduce "
            "gradients in every micro-step: use a larger micro-batch there."
        ),
    ),
    beware=(
        "that it is always wrong: with ZeRO-2/3 and FSDP, no_sync() keeps whole gradients and may not fit in memory."
    ),
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where collectives run before the last micro-step."""
    if not synchronises_every_micro_step(analysis):
        return None
    lost = exposed_bill(analysis).get(PAGE.code, 0)
    passes, number = micro_steps(analysis), median(one.per_step for one in analysis.buckets)
    collectives = format_mean_count(number, "gradient collective")
    detail = f"{amount(analysis, lost)}: {collectives} in a step of {passes} micro-steps."
    return finding(analysis, PAGE, lost_ns=lost, detail=detail, always=True)
