"""The tables about training processes on the host: who they are, their steps and phases, and which are slow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.findings.words import process_name
from gapfinder.processes import Phase
from gapfinder.render.table import NOTHING, Column, Kind, Table, left_out
from gapfinder.units import format_count, format_duration, format_share, format_time, format_times

if TYPE_CHECKING:
    from gapfinder.model import Analysis
    from gapfinder.processes import HostSteps, TrainingProcess

_SLOWEST = "those with slow or long steps"


def process_tables(analysis: Analysis, *, limit: int, steps: int) -> list[Table]:
    """Return the tables that have something to tell beyond what those of the lanes say.

    Where there are lanes, and no range tells a phase, the steps of the lanes say it all.
    """
    with_steps = [process for process in analysis.processes if process.steps]
    if not with_steps or (analysis.lanes and not any(_knows_phases(process) for process in with_steps)):
        return []
    tables = (
        _process_table(analysis, limit=limit),
        _phase_table(analysis, limit=limit),
        _slow_table(analysis),
        None if analysis.lanes else _longest_steps(analysis, limit=steps),
    )
    return [table for table in tables if table is not None]


def _knows_phases(process: TrainingProcess) -> bool:
    return process.steps is not None and any(ns for phase, ns in process.steps.phases.items() if phase != Phase.OTHER)


def _shown(analysis: Analysis, *, limit: int) -> list[int]:
    """Return the slow processes and those with the longest steps, at most `limit`, in their order."""
    slow = {one.process for one in analysis.slow_ranks}

    def urgency(index: int) -> tuple[bool, int, int]:
        steps = analysis.processes[index].steps
        return index not in slow, -steps.p50_ns if steps else 0, index

    return sorted(sorted(range(len(analysis.processes)), key=urgency)[:limit])


def _process_table(analysis: Analysis, *, limit: int) -> Table:
    """Return one row per process: who it is, and the statistics of its steps on the host."""
    indices = _shown(analysis, limit=limit)
    hosts = {process.host for process in analysis.processes if process.host}
    has_files = len({process.file for process in analysis.processes}) > 1
    has_micro = any(_micro_steps(process) != "1" for process in analysis.processes if process.steps)
    on = f" All on {hosts.copy().pop()}." if len(hosts) == 1 and all(p.host for p in analysis.processes) else ""
    return Table(
        title="Training processes",
        caption=f"Complete steps on the host, and how many were left out (warm-up, cut, not asked for).{on}"
        + left_out(len(indices), len(analysis.processes), "process", _SLOWEST),
        columns=(
            Column("process", Kind.WORD),
            Column("pid"),
            *((Column("host", Kind.LABEL),) if hosts and not on else ()),
            *((Column("report", Kind.LABEL),) if has_files else ()),
            *(Column(header) for header in ("steps", "left out", "mean", "p50", "p99")),
            *((Column("micro-steps"),) if has_micro else ()),
        ),
        rows=tuple(
            (
                process_name(analysis, index),
                str(process.pid),
                *((process.host or NOTHING,) if hosts and not on else ()),
                *((process.file,) if has_files else ()),
                *_statistics(process.steps),
                *((_micro_steps(process),) if has_micro else ()),
            )
            for index, process in ((index, analysis.processes[index]) for index in indices)
        ),
    )


def _statistics(steps: HostSteps | None) -> tuple[str, ...]:
    if steps is None:
        return ("0", *[NOTHING] * 4)
    counts = (format_count(steps.count), format_count(steps.dropped))
    return (*counts, *(format_duration(ns) for ns in (steps.mean_ns, steps.p50_ns, steps.p99_ns)))


def _micro_steps(process: TrainingProcess) -> str:
    """Return how many micro-steps a step has ("4", "3 to 4")."""
    counts = {step.micro_steps for step in process.steps.items} if process.steps else set()
    if not counts:
        return NOTHING
    return str(*counts) if len(counts) == 1 else f"{min(counts)} to {max(counts)}"


def _phases_seen(analysis: Analysis) -> list[Phase]:
    """Return the phases that some process was in, and the rest."""
    all_steps = [process.steps for process in analysis.processes if process.steps]
    return [phase for phase in Phase if phase is Phase.OTHER or any(steps.phases[phase] for steps in all_steps)]


def _phase_table(analysis: Analysis, *, limit: int) -> Table | None:
    """Return where each process's steps went, as shares; None where nothing tells."""
    phases = _phases_seen(analysis)
    indices = [index for index in _shown(analysis, limit=limit) if analysis.processes[index].steps]
    if phases == [Phase.OTHER]:
        return None
    total = sum(process.steps is not None for process in analysis.processes)
    return Table(
        title="Phases of the steps on the host",
        caption="Shares of the step time; each moment counts for the innermost range."
        + left_out(len(indices), total, "process", _SLOWEST),
        columns=(Column("process", Kind.WORD), *(Column(_heading(phase)) for phase in phases)),
        rows=tuple(
            (process_name(analysis, index), *_shares(analysis.processes[index].steps, phases)) for index in indices
        ),
    )


def _heading(phase: Phase) -> str:
    """Return a phase as a column's heading: all of them must fit side by side."""
    return "gc" if phase is Phase.GARBAGE_COLLECTION else phase.value


def _shares(steps: HostSteps | None, phases: list[Phase]) -> tuple[str, ...]:
    if steps is None:
        return ()
    whole = sum(steps.phases.values())
    return tuple(format_share(steps.phases[phase] / whole) for phase in phases)


def _slow_table(analysis: Analysis) -> Table | None:
    """Return the processes that are slow in most steps; None where there are none."""
    if not analysis.slow_ranks:
        return None
    return Table(
        title="Slow ranks",
        caption="Processes whose steps without backward take 20 % longer than the others' in most steps.",
        columns=(
            Column("process", Kind.WORD),
            *(Column(header) for header in ("slow steps", "own time")),
            Column("what differs", Kind.WORD),
            *(Column(header) for header in ("longer by", "in all")),
        ),
        rows=tuple(
            (
                process_name(analysis, one.process),
                f"{format_count(one.steps[0])} of {format_count(one.steps[1])}",
                format_times(one.own_ratio),
                one.phase.value,
                format_duration(one.phase_ns),
                format_duration(one.lost_ns),
            )
            for one in analysis.slow_ranks
        ),
    )


def _longest_steps(analysis: Analysis, *, limit: int) -> Table | None:
    """Return the longest steps of all processes, in order of length."""
    steps = [
        (index, step)
        for index, process in enumerate(analysis.processes)
        if process.steps
        for step in process.steps.items
    ]
    shown = sorted(steps, key=lambda item: (-item[1].duration_ns, item[0], item[1].start_ns))[:limit]
    phases = _phases_seen(analysis)
    return Table(
        title="Longest steps on the host",
        caption=f"Where each went.{left_out(len(shown), len(steps), 'step', 'the longest')}",
        columns=(
            Column("process", Kind.WORD),
            Column("step", Kind.LABEL),
            Column("start"),
            Column("length"),
            *(Column(_heading(phase)) for phase in phases if phases != [Phase.OTHER]),
        ),
        rows=tuple(
            (
                process_name(analysis, index),
                step.name,
                format_time(step.start_ns),
                format_duration(step.duration_ns),
                *(format_duration(step.phases[phase]) for phase in phases if phases != [Phase.OTHER]),
            )
            for index, step in shown
        ),
    )
