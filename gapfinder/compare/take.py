"""Takes a snapshot: what of an analysis is kept to compare it with others."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from dataclasses import astuple
from datetime import UTC
from typing import TYPE_CHECKING

from gapfinder import __version__
from gapfinder.compare.snapshot import CollectiveTotal, FindingTotal, LaneSnapshot, Snapshot, StepSample
from gapfinder.findings.words import call_name, lane_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from datetime import datetime

    from gapfinder.explanations import CollectiveSummary, Finding
    from gapfinder.model import Analysis, Lane
    from gapfinder.settings import Settings


def take_snapshot(analysis: Analysis, *, settings: Settings, commit: str | None, created: datetime) -> Snapshot:
    """Return what of `analysis` is kept; the same for the same arguments.

    Args:
        analysis: with its findings.
        settings: what the analysis was made with.
        commit: git commit of the training's code; None where not known.
        created: when it was measured, with a time zone.
    """
    lanes = tuple(_lane(lane, label=lane_name(analysis, index)) for index, lane in enumerate(analysis.lanes))
    return Snapshot(
        digest=_digest(lanes),
        gapfinder_version=__version__,
        nsys_version=analysis.source.nsys_version,
        commit=commit,
        created=created.astimezone(UTC).isoformat(timespec="seconds"),
        world_size=analysis.world_size,
        min_gap_ns=settings.min_gap_ns,
        step_range=settings.step_range,
        window=settings.window,
        lanes=lanes,
        collectives=tuple(map(_collective, analysis.collectives)),
        kernels=analysis.kernels,
        findings=tuple(map(_finding, analysis.findings)),
    )


def _lane(lane: Lane, *, label: str) -> LaneSnapshot:
    steps = () if lane.steps is None else lane.steps.items
    return LaneSnapshot(
        label=label,
        rank=lane.rank,
        device=lane.device,
        gpu_name=lane.gpu_name,
        budget=lane.budget,
        idle_reason=lane.idle_reason,
        overlap_ratio=lane.overlap_ratio,
        overlap_reason=lane.overlap_reason,
        causes=lane.causes,
        sync_calls=_by_call(lane.host.sync_calls),
        steps=tuple(
            StepSample(number=step.number, budget=step.budget, overlap_ratio=step.overlap_ratio) for step in steps
        ),
        steps_reason=lane.steps_reason,
    )


def _by_call(calls: Mapping[str, tuple[int, int]]) -> dict[str, tuple[int, int]]:
    """Return (count, ns) by the call's name without its version, which changes with CUDA and not with the training."""
    counts: Counter[str] = Counter()
    times: Counter[str] = Counter()
    for name, (count, ns) in calls.items():
        counts[call_name(name)] += count
        times[call_name(name)] += ns
    return {name: (counts[name], times[name]) for name in sorted(counts)}


def _collective(summary: CollectiveSummary) -> CollectiveTotal:
    return CollectiveTotal(
        operation=summary.operation,
        communicator=summary.communicator,
        instances=summary.instances,
        total_ns=summary.total_ns,
        hidden_ns=summary.hidden_ns,
        exposed_ns=summary.exposed_ns,
        wait_ns=summary.wait_ns,
        transfer_ns=summary.transfer_ns,
        bytes_total=summary.bytes_total,
    )


def _finding(finding: Finding) -> FindingTotal:
    return FindingTotal(
        code=finding.code,
        severity=finding.severity,
        title=finding.title,
        lost_ns=finding.lost_ns,
        share=finding.share,
        lane=finding.lane,
    )


def _digest(lanes: Sequence[LaneSnapshot]) -> str:
    """Return a digest of what was captured: every lane's device, budget and steps, whatever it was called."""
    seen = [[lane.device, astuple(lane.budget), [astuple(step) for step in lane.steps]] for lane in lanes]
    return hashlib.sha256(json.dumps(seen).encode()).hexdigest()
