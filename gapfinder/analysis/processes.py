"""What each training process did on the host: who it is, its steps, and where they went; no GPU work is needed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.phases import PHASES, PhaseRanges
from gapfinder.analysis.step_ranges import NO_NVTX, NO_STEP_RANGES
from gapfinder.analysis.steps import NO_COMPLETE_STEP, StepWindows, length_statistics
from gapfinder.budget import ALWAYS, Window
from gapfinder.processes import HostStep, HostSteps, TrainingProcess
from gapfinder.tables import process_id

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gapfinder.analysis.report import Report
    from gapfinder.analysis.step_ranges import StepRanges
    from gapfinder.model import Lane
    from gapfinder.settings import Settings


def measure_processes(report: Report, *, settings: Settings, with_lanes: Iterable[int]) -> dict[int, TrainingProcess]:
    """Return every process of a report that has steps, a rank mark or a lane, by process key.

    Its file and its lanes are left empty, as only a look at all reports tells them.

    Args:
        report: the report.
        settings: whose window and steps are honoured.
        with_lanes: keys of the processes that have lanes.
    """
    ranges = report.profile.ranges
    phases = None
    if report.steps:
        threads = np.unique(np.concatenate([steps.threads for steps in report.steps.values()]))
        phases = PhaseRanges(ranges, step_threads=threads.tolist())
    found = {}
    for process in sorted({*report.steps, *report.rank_marks, *with_lanes}):
        steps = None
        if phases is not None and process in report.steps:
            steps = _steps(process, ranges=report.steps[process], phases=phases, settings=settings)
        mark = report.rank_marks.get(process)
        found[process] = TrainingProcess(
            file="",
            pid=process_id(process),
            rank=mark.rank if mark else None,
            local_rank=mark.local_rank if mark else None,
            world_size=mark.world_size if mark else None,
            host=mark.host if mark else None,
            lanes=(),
            steps=steps,
            steps_reason=None if steps else _reason(report, process),
        )
    return found


def join_processes(
    reports: Sequence[dict[int, TrainingProcess]],
    *,
    files: Sequence[str],
    lanes: Sequence[tuple[int, int, Lane]],
    settings: Settings,
) -> tuple[TrainingProcess, ...]:
    """Return the processes of all reports, in order of rank, else of host and pid.

    Args:
        reports: the processes of each report, by key.
        files: name of each report.
        lanes: of every lane the place of its report, the key of its process and the lane, in their order.
        settings: whose ranks, told by the user for every lane, count more than what the processes tell.
    """
    of_process: dict[tuple[int, int], list[int]] = {}
    for index, (place, key, _) in enumerate(lanes):
        of_process.setdefault((place, key), []).append(index)
    joined = []
    for place, processes in enumerate(reports):
        for key, process in processes.items():
            own = tuple(of_process.get((place, key), ()))
            rank = lanes[own[0]][2].rank if settings.ranks and own else process.rank
            joined.append((place, replace(process, file=files[place], lanes=own, rank=rank)))
    return tuple(process for _, process in sorted(joined, key=_order))


def _order(placed: tuple[int, TrainingProcess]) -> tuple[bool, int, str, int, int]:
    place, process = placed
    return process.rank is None, process.rank or 0, process.host or "", place, process.pid


def _reason(report: Report, process: int) -> str:
    if not report.profile.has_nvtx:
        return NO_NVTX
    return NO_COMPLETE_STEP if process in report.steps else NO_STEP_RANGES


def _steps(process: int, *, ranges: StepRanges, phases: PhaseRanges, settings: Settings) -> HostSteps | None:
    """Return the complete steps that are asked for, on the host's time; None when there are none."""
    steps = StepWindows(ranges=ranges, places=np.arange(len(ranges)), starts=ranges.starts, ends=ranges.ends)
    steps = steps.select(ranges.ends > ranges.starts)
    if settings.step_range is not None:
        first, end = settings.step_range
        steps = steps.select((steps.numbers >= first) & (steps.numbers < end))
    window = ALWAYS if settings.window is None else Window(start_ns=settings.window[0], end_ns=settings.window[1])
    steps = steps.complete(inside=window, keep_first=settings.step_range is not None)
    if len(steps) == 0:
        return None
    times = phases.within(process, starts=steps.starts, ends=steps.ends)
    mean, p50, p99 = length_statistics(steps.ends - steps.starts)
    return HostSteps(
        items=_items(
            steps,
            times=times.T.tolist(),
            micro_steps=phases.micro_steps(process, starts=steps.starts, ends=steps.ends).tolist(),
        ),
        dropped=len(ranges) - len(steps),
        mean_ns=mean,
        p50_ns=p50,
        p99_ns=p99,
        phases=dict(zip(PHASES, times.sum(axis=1).tolist(), strict=True)),
    )


def _items(steps: StepWindows, *, times: list[list[int]], micro_steps: list[int]) -> tuple[HostStep, ...]:
    columns = (steps.places, steps.numbers, steps.starts, steps.ends)
    rows = zip(*(column.tolist() for column in columns), micro_steps, times, strict=True)
    return tuple(
        HostStep(
            name=steps.ranges.names[place],
            number=number,
            start_ns=start,
            end_ns=end,
            micro_steps=micro,
            phases=dict(zip(PHASES, spent, strict=True)),
        )
        for place, number, start, end, micro, spent in rows
    )
