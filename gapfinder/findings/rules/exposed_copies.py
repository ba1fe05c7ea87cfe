"""exposed-copies: the GPU waits for copies that are neither pageable nor offloading."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.findings.copied import copy_bill
from gapfinder.findings.lost import amount, finding, mostly_of
from gapfinder.findings.page import Page

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="exposed-copies",
    title="The GPU waits for copies",
    meaning=("Copies or memsets run and no compute does: a copy on the compute stream, or one that compute waits for."),
    measured="Hole time spent in copies, without what pageable-copies and offload-copies take.",
    change=(
        "Issue the copy earlier and on a stream of its own, with non_blocking=True and pinned memory.",
        "Keep on the GPU what is copied in every step: masks, position ids, learning rates, metrics.",
        "Join many small copies into one.",
    ),
    beware="that the copies are slow: their bandwidth stands with each hole.",
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where other copies leave holes."""
    lost = copy_bill(analysis).get(PAGE.code, {})
    total = sum(lost.values())
    return finding(
        analysis,
        PAGE,
        lost_ns=total,
        detail=f"{amount(analysis, total)} with only copies running.",
        lane=mostly_of(analysis, lost),
    )
