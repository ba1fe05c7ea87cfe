"""unbalanced-input: another lane is the slowest from step to step, as with sequences of unequal length."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from gapfinder.findings.exposed import compute_spreads, exposed_bill, slowest_lanes
from gapfinder.findings.lost import amount, finding
from gapfinder.findings.page import Page
from gapfinder.units import format_share

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="unbalanced-input",
    title="Lanes get unequal amounts of work, another one each step",
    meaning=(
        "Compute time differs between lanes, and which lane is the slowest changes from step to step. That is the "
        "mark of the input, not of a card: sequences or images of unequal size, or tokens routed unevenly to "
        "experts."
    ),
    measured=(
        "Over four or more common steps the slowest lane computes at least 5 % longer than the median lane (median "
        "over steps), and no lane is the slowest in more than half of them. Lost is the waiting in collectives that "
        "neither slow-node nor straggler explains."
    ),
    change=(
        (
            "Batch by tokens instead of samples: sort by length into buckets, or pack sequences, so that each rank "
            "gets about the same number of tokens."
        ),
        (
            "Give every rank the same padded shape in a step (pad to the longest of all ranks, or to a few fixed "
            "lengths)."
        ),
        "With experts, raise the weight of the load balancing loss or set a capacity factor.",
    ),
    beware="that a card is slow: see straggler, which speaks where it is always the same one.",
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where the slowest lane changes from step to step."""
    lost = exposed_bill(analysis).get(PAGE.code, 0)
    if not lost:
        return None
    slowest = slowest_lanes(analysis)
    spread = median(compute_spreads(analysis).values())
    different = len(set(slowest.values()))
    return finding(
        analysis,
        PAGE,
        lost_ns=lost,
        detail=(
            f"{amount(analysis, lost)} of waiting: the slowest lane computes {format_share(spread)} longer than the "
            f"median one, and in {len(slowest)} steps {different} different lanes were the slowest."
        ),
    )
