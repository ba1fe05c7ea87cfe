"""The report for other programs: JSON whose names are a contract."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

from gapfinder.model import SCHEMA_VERSION
from gapfinder.render.json_text import encode
from gapfinder.units import format_share

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gapfinder.explanations import Cause, CollectiveSummary, Evidence, Finding, KernelTotal, StepCommunication
    from gapfinder.hosts import Host, HostClock, LaneSteps
    from gapfinder.links import Link
    from gapfinder.model import Analysis, DecidedName, Gaps, Hole, Holes, Lane, Source, Step, Steps, Total
    from gapfinder.processes import HostStep, HostSteps, Phase, SlowRank, TrainingProcess
    from gapfinder.stragglers import StepSpread, Straggler

    Object = dict[str, object]


def render_json(analysis: Analysis) -> str:
    """Return the report as JSON: times in ns, null where something could not be measured, the same bytes every time."""
    document = {
        "schema_version": SCHEMA_VERSION,
        "source": _source(analysis.source),
        "lanes": [_lane(lane) for lane in analysis.lanes],
        "total": _total(analysis.total),
        "link": None if analysis.link is None else _plain(analysis.link),
        "collectives": [_plain(collective) for collective in analysis.collectives],
        "kernels": [_plain(kernel) for kernel in analysis.kernels],
        "collective_steps": [_plain(step) for step in analysis.collective_steps],
        "step_spreads": [_plain(spread) for spread in analysis.step_spreads],
        "stragglers": [_plain(straggler) for straggler in analysis.stragglers],
        "world_size": analysis.world_size,
        "clocks": [_plain(clock) for clock in analysis.clocks],
        "hosts": [_plain(host) for host in analysis.hosts],
        "lane_steps": None if analysis.lane_steps is None else _lane_steps(analysis.lane_steps),
        "processes": [_process(process) for process in analysis.processes],
        "slow_ranks": [_plain(slow) for slow in analysis.slow_ranks],
        "findings": [_finding(finding) for finding in analysis.findings],
        "coverage": _coverage(analysis),
    }
    return encode(document)


def _source(source: Source) -> Object:
    return {
        "files": list(source.files),
        "nsys_version": source.nsys_version,
        "export_schema_version": source.export_schema_version,
    }


def _lane(lane: Lane) -> Object:
    budget, is_idle_known = lane.budget, lane.is_idle_known
    return {
        "file": lane.file,
        "pid": lane.pid,
        "device": lane.device,
        "rank": lane.rank,
        "gpu_name": lane.gpu_name,
        "shares_gpu_with": list(lane.shares_gpu_with),
        "window": {
            "start_ns": lane.window.start_ns,
            "end_ns": lane.window.end_ns,
            "duration_ns": lane.window.duration_ns,
        },
        "kernels": lane.kernels,
        "ops": lane.ops,
        "dropped_ops": lane.dropped_ops,
        "busy_ns": budget.busy_ns,
        "idle_ns": budget.idle_ns if is_idle_known else None,
        "compute_ns": budget.compute_ns,
        "communication_ns": budget.communication_ns,
        "hidden_ns": budget.hidden_ns,
        "exposed_ns": budget.exposed_ns,
        "compute_only_ns": budget.compute_only_ns,
        "copy_only_ns": budget.copy_only_ns,
        "graph_only_ns": budget.graph_only_ns,
        "overlap_ratio": lane.overlap_ratio,
        "overlap_reason": lane.overlap_reason,
        "gaps": _gaps(lane.gaps, is_idle_known=is_idle_known),
        "holes": _holes(lane.holes, is_idle_known=is_idle_known),
        "causes": _by_cause(lane.causes) if is_idle_known else {},
        "steps": None if lane.steps is None else _steps(lane.steps, is_idle_known=is_idle_known),
    }


def _gaps(gaps: Gaps, *, is_idle_known: bool) -> Object:
    numbers = {"count": gaps.count, "total_ns": gaps.total_ns, "longest_ns": gaps.longest_ns}
    return {"min_gap_ns": gaps.min_gap_ns, **(numbers if is_idle_known else dict.fromkeys(numbers))}


def _holes(holes: Holes, *, is_idle_known: bool) -> Object:
    return {
        "min_gap_ns": holes.min_gap_ns,
        "count": holes.count if is_idle_known else None,
        "total_ns": holes.total_ns if is_idle_known else None,
        "top": [_hole(hole) for hole in holes.top] if is_idle_known else [],
    }


def _by_cause(times: Mapping[Cause, int]) -> Object:
    """Return ns by cause, most first."""
    return {cause.value: ns for cause, ns in sorted(times.items(), key=lambda item: (-item[1], item[0].value))}


def _hole(hole: Hole) -> Object:
    return {
        "start_ns": hole.start_ns,
        "end_ns": hole.end_ns,
        "idle_ns": hole.idle_ns,
        "exposed_ns": hole.exposed_ns,
        "copy_only_ns": hole.copy_only_ns,
        "cause": hole.cause.value,
        "evidence": _evidence(hole),
    }


def _evidence(hole: Hole) -> Object:
    """Return what was seen about a hole; what does not apply or was not captured is left out."""
    seen = {name: value for name, value in _plain(hole.evidence).items() if value is not None}
    return {"before": hole.before, "after": hole.after, **seen, "shares": _by_cause(hole.evidence.shares)}


def _plain(
    value: Link
    | CollectiveSummary
    | Host
    | HostClock
    | KernelTotal
    | LaneSteps
    | SlowRank
    | StepCommunication
    | StepSpread
    | Straggler
    | Evidence,
) -> Object:
    """Return a result as an object with the names of its fields."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _lane_steps(steps: LaneSteps) -> Object:
    """Return the matrices with a line for each step."""
    matrices = {"own_ns": [list(row) for row in steps.own_ns], "wait_ns": [list(row) for row in steps.wait_ns]}
    return _plain(steps) | matrices


def _finding(finding: Finding) -> Object:
    names = ("code", "severity", "title", "detail", "advice", "lost_ns")
    return {name: getattr(finding, name) for name in names}


def _steps(steps: Steps, *, is_idle_known: bool) -> Object:
    return {
        "count": steps.count,
        "dropped": steps.dropped,
        "mean_ns": steps.mean_ns,
        "p50_ns": steps.p50_ns,
        "p99_ns": steps.p99_ns,
        "items": [_step(step, is_idle_known=is_idle_known) for step in steps.items],
    }


def _step(step: Step, *, is_idle_known: bool) -> Object:
    return {
        "name": step.name,
        "start_ns": step.window.start_ns,
        "end_ns": step.window.end_ns,
        "overlap_ratio": step.overlap_ratio,
        "idle_ns": step.budget.idle_ns if is_idle_known else None,
        "exposed_ns": step.budget.exposed_ns,
        "communication_ns": step.budget.communication_ns,
        "hidden_ns": step.budget.hidden_ns,
    }


def _process(process: TrainingProcess) -> Object:
    return {
        "file": process.file,
        "pid": process.pid,
        "rank": process.rank,
        "local_rank": process.local_rank,
        "world_size": process.world_size,
        "host": process.host,
        "lanes": list(process.lanes),
        "steps": None if process.steps is None else _host_steps(process.steps),
        "steps_reason": process.steps_reason,
    }


def _host_steps(steps: HostSteps) -> Object:
    return {
        "count": steps.count,
        "dropped": steps.dropped,
        "mean_ns": steps.mean_ns,
        "p50_ns": steps.p50_ns,
        "p99_ns": steps.p99_ns,
        "phases": _by_phase(steps.phases),
        "items": [_host_step(step) for step in steps.items],
    }


def _host_step(step: HostStep) -> Object:
    return {
        "name": step.name,
        "number": step.number,
        "start_ns": step.start_ns,
        "end_ns": step.end_ns,
        "micro_steps": step.micro_steps,
        "phases": _by_phase(step.phases),
    }


def _by_phase(times: Mapping[Phase, int]) -> Object:
    return {phase.value: ns for phase, ns in times.items()}


def _total(total: Total | None) -> Object:
    if total is None:
        sums = dict.fromkeys(("lanes", "communication_ns", "hidden_ns", "exposed_ns", "idle_ns", "window_ns"), 0)
        return {**sums, "overlap_ratio": None, "worst_lane": None}
    budget = total.budget
    return {
        "lanes": total.lanes,
        "communication_ns": budget.communication_ns,
        "hidden_ns": budget.hidden_ns,
        "exposed_ns": budget.exposed_ns,
        "idle_ns": budget.idle_ns if total.is_idle_known else None,
        "window_ns": budget.window_ns,
        "overlap_ratio": total.overlap_ratio,
        "worst_lane": total.worst_lane,
    }


def _coverage(analysis: Analysis) -> Object:
    """Return what the capture holds; the names that a pattern decided are among the notes."""
    coverage = analysis.coverage
    return {
        "kernels": coverage.kernels,
        "copies": coverage.copies,
        "graphs": coverage.graphs,
        "nvtx": coverage.nvtx,
        "runtime": coverage.runtime,
        "osrt": coverage.osrt,
        "notes": [*coverage.notes, *map(_decided, analysis.decided_names)],
    }


def _decided(name: DecidedName) -> str:
    counted = "communication" if name.is_communication else "compute"
    why = "its name looks like communication" if name.pattern is None else f"pattern {name.pattern}"
    return f"counted as {counted} ({why}), {format_share(name.share)} of kernel time: {name.name}"
