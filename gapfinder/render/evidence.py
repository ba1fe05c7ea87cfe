"""What was seen about one hole, in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Cause
from gapfinder.findings.words import lane_name, range_name
from gapfinder.render.words import cause_words
from gapfinder.units import format_bandwidth, format_bytes, format_duration, format_share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.explanations import Evidence
    from gapfinder.model import Analysis, Hole

_NEARLY_ALL = 0.95
_WORTH_NAMING = 0.05
_TOLD_BY_TIMES = {Cause.EXPOSED_TRANSFER, Cause.EXPOSED_WAIT}
_ON_THE_GPU = _TOLD_BY_TIMES | {
    Cause.EXPOSED_COMMUNICATION,
    Cause.PIPELINE_BUBBLE,
    Cause.HOST_TO_DEVICE_COPY,
    Cause.COPY,
    Cause.GRAPH_UNKNOWN,
}

_LATE = (Cause.LAUNCH_BOUND, Cause.HOST_CODE, Cause.DEVICE_WAIT, Cause.UNKNOWN)


def evidence_words(analysis: Analysis, hole: Hole) -> str:
    """Return what a hole's cause rests on ("AllReduce: rank 3 came late: 7.090 ms wait, 4.020 ms transfer")."""
    seen = hole.evidence
    parts = (*_communication(analysis, seen), *_host(seen, hole), *_copies(seen), *_shares(hole))
    return "; ".join(parts)


def _communication(analysis: Analysis, seen: Evidence) -> Iterator[str]:
    times = [(seen.wait_ns, "wait"), (seen.transfer_ns, "transfer")]
    lengths = ", ".join(f"{format_duration(ns)} {what}" for ns, what in times if ns)
    late = f"{lane_name(analysis, seen.late_lane)} came late" if seen.late_lane is not None and seen.wait_ns else ""
    words = ": ".join(filter(None, (seen.operation, late, lengths)))
    if words:
        yield words


def _host(seen: Evidence, hole: Hole) -> Iterator[str]:
    """Yield where the launching thread was, where the hole is due to the host, and when it went on."""
    by_host = sum(ns for cause, ns in seen.shares.items() if cause not in _ON_THE_GPU)
    if by_host < _WORTH_NAMING * hole.duration_ns:
        return
    where = f"inside `{range_name(seen.nvtx)}`" if seen.nvtx else ""
    if seen.call:
        length = f"for {format_duration(seen.call_ns)}" if seen.call_ns is not None else ""
        yield " ".join(filter(None, (seen.call, length, where)))
    elif where:
        yield where
    if seen.launch_delay_ns is not None and hole.cause in _LATE:
        delay = format_duration(abs(seen.launch_delay_ns))
        yield f"next launch {delay} {'after' if seen.launch_delay_ns >= 0 else 'before'} its start"


def _copies(seen: Evidence) -> Iterator[str]:
    if seen.copied_bytes:
        speed = f" at {format_bandwidth(seen.copy_bandwidth)}" if seen.copy_bandwidth else ""
        memory = {True: " from pageable memory", False: " from pinned memory", None: ""}[seen.is_pageable]
        yield f"{format_bytes(seen.copied_bytes)} copied{speed}{memory}"


def _shares(hole: Hole) -> Iterator[str]:
    """Yield how the hole divides, where one cause is not nearly all of it."""
    shares = {cause: ns / hole.duration_ns for cause, ns in hole.evidence.shares.items()}
    named = sorted((cause for cause in shares if shares[cause] >= _WORTH_NAMING), key=lambda c: (-shares[c], c))
    if named and shares[named[0]] < _NEARLY_ALL and not _TOLD_BY_TIMES.issuperset(named):
        yield ", ".join(f"{format_share(shares[cause])} {cause_words(cause)}" for cause in named)
