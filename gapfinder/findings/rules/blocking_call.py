"""blocking-call: the launching thread sat in the operating system."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Cause
from gapfinder.findings.lost import amount, finding, lost_by_lane, mostly_of, seen_in
from gapfinder.findings.page import Page

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="blocking-call",
    title="The launching thread is blocked in the operating system",
    meaning=(
        "The thread that launches GPU work waited in a call such as read, futex, poll or nanosleep, outside of any "
        "range that says why: a lock held by another thread (Python's GIL among them), a file, a socket, a sleep."
    ),
    measured=(
        "Hole time in which the launching thread was in a blocking call (nsys --trace=osrt) that nothing else explains."
    ),
    change=(
        (
            "Mark your own phases with NVTX ranges (torch.cuda.nvtx.range) and capture again: the range then names "
            "the cause."
        ),
        (
            "For futex and pthread waits look for other Python threads (loggers, prefetchers) and move them to a "
            "process."
        ),
        ("For read and write move files, logs and metrics to a thread that launches nothing, and off network storage."),
    ),
    beware=(
        "that every blocking call is bad: only those of the launching thread, while the GPU was idle, are counted."
    ),
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where blocking calls leave holes."""
    lost = lost_by_lane(analysis, Cause.OS_CALL)
    total = sum(lost.values())
    return finding(
        analysis,
        PAGE,
        lost_ns=total,
        detail=f"{amount(analysis, total)}{seen_in(analysis, Cause.OS_CALL)}.",
        lane=mostly_of(analysis, lost),
    )
