"""pageable-copies: batches are copied to the GPU from pageable memory while it waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Cause
from gapfinder.findings.copied import copy_bill
from gapfinder.findings.lost import amount, evidence_of, finding, mostly_of
from gapfinder.findings.page import Page
from gapfinder.units import format_bandwidth, format_bytes, format_count

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="pageable-copies",
    title="The GPU waits for copies from pageable memory",
    meaning=(
        "Host memory that is not pinned cannot be read by the GPU itself: the driver copies it through a buffer of "
        "its own, slower, and the call returns only when that is done. No such copy overlaps with compute."
    ),
    measured=(
        "Hole time spent in host-to-device copies, at most as much as the lane's pageable ones took. The rest is "
        "charged to exposed-copies."
    ),
    change=(
        "Set pin_memory=True in the DataLoader and copy with tensor.to(device, non_blocking=True).",
        "Copy the next batch on a stream of its own while this one computes.",
        "For a collate function that returns a type of its own, give that type a pin_memory() method.",
    ),
    beware="that pinning alone hides a copy: it must also be issued ahead, on another stream.",
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where pageable copies leave holes."""
    lost = copy_bill(analysis).get(PAGE.code, {})
    if not lost:
        return None
    total = sum(lost.values())
    copies = sum(analysis.lanes[index].host.pageable_copies for index in lost)
    return finding(
        analysis,
        PAGE,
        lost_ns=total,
        detail=f"{amount(analysis, total)}; {format_count(copies, 'pageable copy')} in all{_longest(analysis)}.",
        lane=mostly_of(analysis, lost),
    )


def _longest(analysis: Analysis) -> str:
    """Return size and bandwidth in the longest hole of such a copy."""
    for seen in evidence_of(analysis, Cause.HOST_TO_DEVICE_COPY):
        if seen.is_pageable and seen.copied_bytes and seen.copy_bandwidth:
            return (
                f", the longest hole with {format_bytes(seen.copied_bytes)} at {format_bandwidth(seen.copy_bandwidth)}"
            )
    return ""
