"""data-starved: the GPU waits because the next batch is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Cause
from gapfinder.findings.lost import amount, finding, lost_by_lane, mostly_of, seen_in, shares_by_lane
from gapfinder.findings.page import Page

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="data-starved",
    title="The GPU waits for data",
    meaning=(
        "The thread that launches GPU work was fetching the next batch while the GPU had nothing left to do: workers"
        " are too few or too slow, storage is slow, or the batch is prepared in the training process itself."
    ),
    measured=("Hole time in which the launching thread was in a data loading range or in a wait for loader workers."),
    change=(
        (
            "Raise num_workers and prefetch_factor of the DataLoader, with persistent_workers=True and "
            "pin_memory=True; on 8 GPUs check that the machine has the cores and the memory for 8 times as many "
            "workers."
        ),
        "Move work out of the loader: decode, tokenise and resize once ahead of time, or on the GPU.",
        "Put the data on a local disk, in few large files that are read in sequence.",
        "Copy the next batch while this one computes (non_blocking=True on a stream of its own).",
    ),
    beware=("that the disk is slow: time in poll is waiting for workers, whatever they wait for; profile one of them."),
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where holes are spent loading data."""
    lost = lost_by_lane(analysis, Cause.DATA_LOADING)
    if not lost:
        return None
    total = sum(lost.values())
    where = seen_in(analysis, Cause.DATA_LOADING)
    return finding(
        analysis,
        PAGE,
        lost_ns=total,
        detail=f"{amount(analysis, total)}{shares_by_lane(analysis, lost)}{where}.",
        lane=mostly_of(analysis, lost),
    )
