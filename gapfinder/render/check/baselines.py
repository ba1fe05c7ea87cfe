"""Baselines as text: one in a line, or one in full."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.errors import visible
from gapfinder.render.words import UNKNOWN_GPU, short_commit
from gapfinder.units import format_count, format_duration, format_share

if TYPE_CHECKING:
    from gapfinder.compare.snapshot import LaneSnapshot, Snapshot


def baseline_line(name: str, snapshot: Snapshot) -> str:
    """Return one baseline in a line."""
    commit = f"commit {short_commit(snapshot.commit) or 'not known'}"
    return visible(f"{name}: {snapshot.created}, {commit}, {_gpus(snapshot)}, {_steps(snapshot)}")


def baseline_text(name: str, snapshot: Snapshot) -> str:
    """Return one baseline in full: what it is of, and what it says of every lane."""
    lines = [
        baseline_line(name, snapshot),
        _measured(snapshot),
        *map(_lane, snapshot.lanes),
    ]
    return "".join(f"{visible(line)}\n" for line in lines)


def _measured(snapshot: Snapshot) -> str:
    nsys = snapshot.nsys_version or "of unknown version"
    return f"gapfinder {snapshot.gapfinder_version}, nsys {nsys}, gaps from {format_duration(snapshot.min_gap_ns)}"


def _lane(lane: LaneSnapshot) -> str:
    ratio = f"not measured ({lane.overlap_reason})" if lane.overlap_ratio is None else format_share(lane.overlap_ratio)
    idle = f"not measured ({lane.idle_reason})" if lane.idle_reason else format_duration(lane.budget.idle_ns)
    return (
        f"{lane.label}: overlap ratio {ratio}, exposed {format_duration(lane.budget.exposed_ns)}, idle {idle} "
        f"of {format_duration(lane.budget.window_ns)}"
    )


def _gpus(snapshot: Snapshot) -> str:
    models = sorted({lane.gpu_name or UNKNOWN_GPU for lane in snapshot.lanes})
    return f"{format_count(len(snapshot.lanes), 'lane')} on {', '.join(models)}"


def _steps(snapshot: Snapshot) -> str:
    return format_count(min((len(lane.steps) for lane in snapshot.lanes), default=0), "step")
