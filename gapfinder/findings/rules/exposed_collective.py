"""exposed-collective: communication that no compute hides and no other rule explains."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.findings.exposed import exposed_bill, wait_bill
from gapfinder.findings.lost import amount, finding
from gapfinder.findings.page import Page
from gapfinder.findings.words import lane_name, listed
from gapfinder.units import format_count, format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.explanations import CollectiveSummary, Finding
    from gapfinder.model import Analysis

_ON_WAITING = (
    "Look for what made the late lane late: its own holes and their causes say so, and compute that differs between "
    "lanes shows in the table of steps."
)
PAGE = Page(
    code="exposed-collective",
    title="Communication is not hidden behind compute",
    meaning=(
        "A collective runs and no compute does. Part of it can be waiting for another lane, part the transfer "
        "itself; no more specific rule explains it."
    ),
    measured=(
        "Exposed communication in holes, without what overlap-broken, late-buckets, single-stream, slow-nic, "
        "slow-link, slow-node, straggler, unbalanced-input, zero-overlap-off, many-small-collectives, "
        "accumulation-not-skipping-sync and pipeline-bubble take."
    ),
    change=(
        (
            "Start the collective earlier, on its own stream and with async_op=True, and wait for it just before its"
            " result is used."
        ),
        (
            "Move fewer bytes: synchronise every N steps (gradient accumulation under no_sync()), or in a smaller "
            "type (ddp_comm_hooks: bf16_compress_hook, powerSGD_hook)."
        ),
        _ON_WAITING,
        ("Compare with `gapfinder estimate`: what takes longer than its compute can never be hidden whole."),
    ),
    beware="that a step would be that much shorter: what depends on the result waits in any case.",
)
_OF_LATE_LANES = ("slow-node", "straggler")
_NAMED = 2
_OFTEN = 0.5


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding for the exposed communication that is left over."""
    lost = exposed_bill(analysis).get(PAGE.code, 0)
    waits = wait_bill(analysis)
    waited = waits.get(PAGE.code, 0)
    is_waiting = waited > lost / 2
    told = [code for code in _OF_LATE_LANES if code in waits]
    detail = amount(analysis, lost)
    if waited > 0:
        detail += f", {format_share(waited / lost)} of it waiting for the last lane"
    elif len(analysis.lanes) == 1:
        detail += "; how much of it is waiting cannot be told from one lane"
    if told and not is_waiting:
        detail += (
            f"; who waits for a late lane has no compute left to hide the transfer, so look at {listed(told)} first"
        )
    operations = listed(list(_operations(analysis)))
    return finding(
        analysis,
        PAGE,
        lost_ns=lost,
        title="Lanes wait for each other in collectives" if is_waiting else None,
        detail=f"{detail}{'. Most exposed: ' if operations else ''}{operations}.",
        advice=_ON_WAITING if is_waiting else None,
    )


def _operations(analysis: Analysis) -> Iterator[str]:
    """Yield the most exposed operations, with the lane that most often came last."""
    for one in sorted(analysis.collectives, key=lambda one: (-one.exposed_ns, one.operation))[:_NAMED]:
        if one.exposed_ns:
            late = _late(analysis, one)
            yield f"{one.operation} {format_duration(one.exposed_ns)}{f' ({late})' if late else ''}"


def _late(analysis: Analysis, one: CollectiveSummary) -> str:
    """Return which lane came last most often; where some found no partner, in how many of those that did."""
    if one.late_lane is None or one.late_share is None or one.late_share <= _OFTEN:
        return ""
    last = f"{lane_name(analysis, one.late_lane)} last in"
    if not one.unmatched:
        return f"{last} {format_share(one.late_share)}"
    times = f"{format_count(round(one.late_share * one.matched))} of {format_count(one.matched)}"
    return f"{last} {times} matched; {format_count(one.unmatched)} found no partner"
