"""Each lane's training steps: their window on the GPU, their budget, and their statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.model import Step, Steps, Window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.lanes import LaneOperations
    from gapfinder.analysis.launches import Launches
    from gapfinder.analysis.step_ranges import StepRanges
    from gapfinder.analysis.timeline import Timeline


@dataclass(frozen=True, kw_only=True, slots=True)
class StepWindow:
    """One step's stretch of time on one lane.

    Attributes:
        is_open: the range had not ended when the capture did.
        is_first: the process's first step, which warms up.
    """

    name: str
    number: int
    window: Window
    is_open: bool
    is_first: bool


def step_windows(lane: LaneOperations, *, ranges: StepRanges, launches: Launches) -> list[StepWindow]:
    """Return the windows of the steps that have GPU work on this lane, in order.

    A step's window begins with the earliest operation launched in it and ends where the next step's begins; the last
    one ends with the last operation launched in it. What overlaps the wrong way round (a later step's work begins
    first) has no window.
    """
    first, last = _first_and_last(lane, ranges=ranges, launches=launches)
    filled = np.flatnonzero(last > first)
    starts = first[filled]
    ends = np.append(starts[1:], last[filled][-1:])
    rows = zip(filled.tolist(), starts.tolist(), ends.tolist(), ranges.is_open[filled].tolist(), strict=True)
    return [
        StepWindow(
            name=ranges.names[place],
            number=ranges.numbers[place],
            window=Window(start_ns=start, end_ns=end),
            is_open=is_open,
            is_first=place == 0,
        )
        for place, start, end, is_open in rows
        if end > start
    ]


def _first_and_last(lane: LaneOperations, *, ranges: StepRanges, launches: Launches) -> tuple[Int64s, Int64s]:
    """Return for each step the earliest start and the latest end of what was launched in it; shape (steps,), ns.

    A step without work keeps the largest start and the smallest end.
    """
    limits = np.iinfo(np.int64)
    first = np.full(len(ranges), limits.max, np.int64)
    last = np.full(len(ranges), limits.min, np.int64)
    for operations in lane.by_kind:
        launched = launches.starts_of(operations.correlations)
        step = np.searchsorted(ranges.starts, launched, side="right") - 1
        inside = (step >= 0) & (launched < ranges.ends[step]) & (operations.ends > operations.starts)
        np.minimum.at(first, step[inside], operations.starts[inside])
        np.maximum.at(last, step[inside], operations.ends[inside])
    return first, last


def complete_steps(windows: Sequence[StepWindow], *, inside: Window, keep_first: bool) -> list[StepWindow]:
    """Return the steps that ended within the capture and lie wholly inside a window.

    The process's first step warms up, so it is left out unless `keep_first` says so or it is the only one.
    """
    complete = [
        step
        for step in windows
        if not step.is_open and step.window.start_ns >= inside.start_ns and step.window.end_ns <= inside.end_ns
    ]
    if keep_first or len(complete) == 1:
        return complete
    return [step for step in complete if not step.is_first]


def measure_steps(
    steps: Sequence[StepWindow], *, timeline: Timeline, total: int, is_overlap_visible: bool
) -> Steps | None:
    """Return the steps with their budgets and statistics; None when there are none.

    Args:
        steps: complete steps of one lane.
        timeline: that lane.
        total: how many steps the process has, those left out and those without GPU work among them.
        is_overlap_visible: False when communication may be where it was not captured, so that no step has a ratio;
            a step in which a whole graph runs has none in any case.
    """
    if not steps:
        return None
    starts = np.array([step.window.start_ns for step in steps])
    ends = np.array([step.window.end_ns for step in steps])
    budgets = timeline.budgets(starts, ends)
    graphs = timeline.graph_times(starts, ends).tolist()
    items = tuple(
        Step(
            name=step.name,
            number=step.number,
            window=step.window,
            budget=budget,
            overlap_ratio=budget.overlap_ratio if is_overlap_visible and not graph else None,
        )
        for step, budget, graph in zip(steps, budgets, graphs, strict=True)
    )
    lengths = ends - starts
    p50, p99 = np.percentile(lengths, [50, 99])
    return Steps(
        items=items,
        dropped=total - len(items),
        mean_ns=round(int(lengths.sum()) / len(items)),
        p50_ns=round(float(p50)),
        p99_ns=round(float(p99)),
    )
