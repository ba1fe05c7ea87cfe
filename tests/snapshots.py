"""Short ways to write snapshots by hand, and a small simulator of per-step samples that knows nothing of the check."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from analysis_values import MS, budget

from gapfinder.budget import Budget
from gapfinder.compare.snapshot import FindingTotal, LaneSnapshot, Snapshot, StepSample
from gapfinder.explanations import Severity
from gapfinder.model import NO_COMMUNICATION

PARTS = ("compute", "hidden", "exposed", "idle")
USUAL = {"compute": 60.0, "hidden": 25.0, "exposed": 10.0, "idle": 5.0}
"""Milliseconds of a step: 100 ms, overlap ratio 25 / 35."""


def in_ms(**parts: float) -> Budget:
    return budget(**{name: round(ms * MS) for name, ms in parts.items()})


def steps_of_ms(*steps: dict[str, float]) -> tuple[StepSample, ...]:
    budgets = [in_ms(**step) for step in steps]
    return tuple(
        StepSample(number=number, budget=one, overlap_ratio=one.overlap_ratio)
        for number, one in enumerate(budgets, start=1)
    )


def lane_of(steps: tuple[StepSample, ...], *, rank: int | None = 0, spent: Budget | None = None) -> LaneSnapshot:
    """Return a lane whose window is its steps, or `spent` where it has none."""
    names = ("window", "compute_only", "hidden", "exposed", "copy_only", "graph_only", "idle")
    if spent is None:
        spent = Budget(**{f"{name}_ns": sum(getattr(step.budget, f"{name}_ns") for step in steps) for name in names})
    return LaneSnapshot(
        label="lane 0" if rank is None else f"rank {rank}",
        rank=rank,
        device=rank or 0,
        gpu_name="NVIDIA H100 80GB HBM3",
        budget=spent,
        idle_reason=None,
        overlap_ratio=spent.overlap_ratio,
        overlap_reason=None if spent.communication_ns else NO_COMMUNICATION,
        causes={},
        sync_calls={},
        steps=steps,
        steps_reason=None if steps else "no NVTX range of this process matches the step pattern",
    )


def snapshot_of(*lanes: LaneSnapshot, digest: str = "a", findings: tuple[FindingTotal, ...] = ()) -> Snapshot:
    return Snapshot(
        digest=digest,
        gapfinder_version="0.1.0",
        nsys_version="2025.5.2",
        commit=None,
        created="2026-03-02T10:00:00+00:00",
        world_size=len(lanes) if lanes else None,
        min_gap_ns=100_000,
        step_range=None,
        window=None,
        lanes=lanes,
        collectives=(),
        kernels=(),
        findings=findings,
    )


def simulated(
    *, seed: int, steps: int = 20, lanes: int = 2, noise: float = 0.05, correlation: float = 0.8, **usual: float
) -> Snapshot:
    """Return a training whose step parts have log-normal noise; lanes share `correlation` of its variance."""
    rng = np.random.default_rng(seed)
    means = np.array([{**USUAL, **usual}[part] for part in PARTS])
    common = rng.standard_normal((1, steps, len(PARTS)))
    own = rng.standard_normal((lanes, steps, len(PARTS)))
    drawn = means * np.exp(noise * (np.sqrt(correlation) * common + np.sqrt(1 - correlation) * own))
    made = [
        lane_of(steps_of_ms(*(dict(zip(PARTS, step, strict=True)) for step in lane.tolist())), rank=rank)
        for rank, lane in enumerate(drawn)
    ]
    return snapshot_of(*made, digest=f"simulated {seed}")


def finding_total(code: str, *, lost_ms: float, share: float = 0.1, lane: int | None = None) -> FindingTotal:
    return FindingTotal(
        code=code, severity=Severity.WARNING, title=f"About {code}", lost_ns=round(lost_ms * MS), share=share, lane=lane
    )


def without_steps(snapshot: Snapshot) -> Snapshot:
    """Return the same capture as if no step range had been found."""
    reason = "no NVTX range of this process matches the step pattern"
    lanes = tuple(replace(lane, steps=(), steps_reason=reason) for lane in snapshot.lanes)
    return replace(snapshot, lanes=lanes)
