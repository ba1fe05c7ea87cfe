"""Each lane's training steps: their window on the GPU, their budget, and their statistics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.timeline import as_budgets
from gapfinder.budget import Window
from gapfinder.model import Step, Steps

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.lanes import LaneOperations
    from gapfinder.analysis.launches import Launches
    from gapfinder.analysis.step_ranges import StepRanges
    from gapfinder.budget import Budget

NO_COMPLETE_STEP = "no step is complete inside the window"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class StepWindows:
    """The steps of one lane that have GPU work, or of one process on the host, in order.

    Attributes:
        ranges: the process's step ranges.
        places: shape (n,); which of `ranges` each step is.
        starts: shape (n,), ns.
        ends: shape (n,), ns; after the start.
    """

    ranges: StepRanges
    places: Int64s
    starts: Int64s
    ends: Int64s

    def __len__(self) -> int:
        return len(self.places)

    @property
    def numbers(self) -> Int64s:
        """Number of each step, shape (n,)."""
        return self.ranges.numbers[self.places]

    def select(self, keep: NDArray[np.bool_]) -> StepWindows:
        """Return the steps where `keep` (shape (n,)) is true."""
        return replace(self, places=self.places[keep], starts=self.starts[keep], ends=self.ends[keep])

    def span(self) -> Window | None:
        """Return first start to last end; None without steps."""
        if len(self) == 0:
            return None
        return Window(start_ns=int(self.starts.min()), end_ns=int(self.ends.max()))

    def complete(self, *, inside: Window, keep_first: bool) -> StepWindows:
        """Return the steps that ended within the capture and lie wholly inside a window.

        The process's first step warms up, so it is left out unless `keep_first` says so or it is the only one.
        """
        lies_inside = (self.starts >= inside.start_ns) & (self.ends <= inside.end_ns)
        complete = self.select(lies_inside & ~self.ranges.is_open[self.places])
        return complete if keep_first or len(complete) == 1 else complete.select(complete.places != 0)


def step_windows(first: Int64s, last: Int64s, *, ranges: StepRanges) -> StepWindows:
    """Return the windows of the steps that have GPU work on a lane, by what `first_and_last` found there.

    A step's window begins with the earliest operation launched in it and ends where the next step's begins; the last
    one ends with the last operation launched in it. What overlaps the wrong way round (a later step's work begins
    first) has no window.
    """
    places = np.flatnonzero(last > first)
    starts = first[places]
    ends = np.append(starts[1:], last[places][-1:])
    windows = StepWindows(ranges=ranges, places=places, starts=starts, ends=ends)
    return windows.select(ends > starts)


def first_and_last(lane: LaneOperations, *, ranges: StepRanges, launches: Launches) -> tuple[Int64s, Int64s]:
    """Return for each step the earliest start and the latest end of what was launched in it; shape (steps,), ns.

    A step without work keeps the largest start and the smallest end.
    """
    limits = np.iinfo(np.int64)
    first = np.full(len(ranges), limits.max, np.int64)
    last = np.full(len(ranges), limits.min, np.int64)
    for operations in lane.by_kind:
        launched = launches.starts_of(operations.calls)
        step = np.searchsorted(ranges.starts, launched, side="right") - 1
        inside = (step >= 0) & (launched < ranges.ends[step]) & (operations.ends > operations.starts)
        np.minimum.at(first, step[inside], operations.starts[inside])
        np.maximum.at(last, step[inside], operations.ends[inside])
    return first, last


def steps_of(steps: StepWindows, *, parts: Int64s, graph_times: Int64s, is_overlap_visible: bool) -> Steps | None:
    """Return the steps with their budgets and statistics; None when there are none.

    Args:
        steps: complete steps of one lane; those of the process that are not among them count as dropped.
        parts: of each step as `Timeline.parts` gives them; shape (steps, 7), ns.
        graph_times: how long graphs ran in each; shape (steps,), ns.
        is_overlap_visible: False when communication may be where it was not captured, so that no step has a ratio;
            a step in which a whole graph runs has none in any case.
    """
    if len(steps) == 0:
        return None
    (total,) = as_budgets(parts.sum(axis=0, keepdims=True))
    mean, p50, p99 = length_statistics(steps.ends - steps.starts)
    return Steps(
        items=_items(
            steps,
            budgets=as_budgets(parts),
            graph_times=graph_times,
            is_overlap_visible=is_overlap_visible,
        ),
        total=total,
        dropped=len(steps.ranges) - len(steps),
        mean_ns=mean,
        p50_ns=p50,
        p99_ns=p99,
    )


def length_statistics(lengths: Int64s) -> tuple[int, int, int]:
    """Return mean, p50 and p99 of lengths in ns, rounded to whole ns; the quantiles are interpolated linearly."""
    p50, p99 = np.percentile(lengths, [50, 99])
    return round(int(lengths.sum()) / len(lengths)), round(float(p50)), round(float(p99))


def _items(
    steps: StepWindows, *, budgets: list[Budget], graph_times: Int64s, is_overlap_visible: bool
) -> tuple[Step, ...]:
    rows = zip(
        steps.places.tolist(),
        steps.numbers.tolist(),
        steps.starts.tolist(),
        steps.ends.tolist(),
        budgets,
        graph_times.tolist(),
        strict=True,
    )
    return tuple(
        Step(
            name=steps.ranges.names[place],
            number=number,
            window=Window(start_ns=start, end_ns=end),
            budget=budget,
            overlap_ratio=budget.overlap_ratio if is_overlap_visible and not graph else None,
        )
        for place, number, start, end, budget, graph in rows
    )
