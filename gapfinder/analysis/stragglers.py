"""Lanes that the others wait for: slow by their own compute, data or launches, step after step."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.clocks import clock_ratios
from gapfinder.analysis.intervals import EMPTY, Measure
from gapfinder.analysis.launches import NEVER
from gapfinder.explanations import Cause
from gapfinder.stragglers import SlowBy, StepSpread, Straggler

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.lanes import LaneOperations
    from gapfinder.analysis.launches import Launches
    from gapfinder.analysis.report import Report
    from gapfinder.analysis.steps import StepWindows
    from gapfinder.model import Lane

    Floats = NDArray[np.float64]

ONE_LANE = "stragglers cannot be known: only one lane is in the reports"
NO_COMMON_STEPS = "stragglers cannot be known: no two lanes have a step of one number"
_OVER_MEDIAN = 1.2
_FEWEST_LANES = 2
_SAYS_SOMETHING = 0.2
_LOWER_CLOCK, _MOST = 0.95, 0.5


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class HostSteps:
    """What the host did in the complete steps of one lane; each array has shape (steps,).

    Attributes:
        data_loading: ns in data loading ranges; None where the process has no such range.
        launch_delays: ns from the start of the step's range to its first launch, data loading left out.
    """

    data_loading: Int64s | None
    launch_delays: Int64s


@dataclass(frozen=True, slots=True, eq=False)
class StepTable:
    """Times in ns by step and lane, shape (steps, lanes); NaN where the lane has no such step.

    Attributes:
        numbers: shape (steps,); of the steps that at least two lanes have complete.
        whole: the step.
        own: the step without exposed communication.
        compute, data_loading, launch_delays, idle: as in `Budget` and `HostSteps`.
    """

    numbers: Int64s
    whole: Floats
    own: Floats
    compute: Floats
    data_loading: Floats
    launch_delays: Floats
    idle: Floats


def host_steps(process: int, *, report: Report, steps: StepWindows, first_launches: Int64s) -> HostSteps:
    """Return what the host did in each of a lane's complete steps.

    Args:
        process: key of its process.
        report: its report.
        steps: its complete steps.
        first_launches: what `first_launches` found for each of the process's step ranges.
    """
    starts, ends = steps.ranges.starts[steps.places], steps.ranges.ends[steps.places]
    loading = report.telling_ranges.get(Cause.DATA_LOADING)
    loaded = loading.of_process(process).covered() if loading else EMPTY
    data = Measure(loaded)
    first = np.minimum(first_launches[steps.places], ends)
    return HostSteps(
        data_loading=data.within(starts, ends) if len(loaded) else None,
        launch_delays=first - starts - data.within(starts, first),
    )


def first_launches(lane: LaneOperations, *, launches: Launches, starts: Int64s) -> Int64s:
    """Return for each of `starts` (in order, ns) when the first call from then on began that launched something."""
    first = np.full(len(starts), NEVER, np.int64)
    for operations in lane.by_kind:
        launched = launches.starts_of(operations.calls)
        step = np.searchsorted(starts, launched, side="right") - 1
        inside = step >= 0
        np.minimum.at(first, step[inside], launched[inside])
    return np.minimum.accumulate(first[::-1])[::-1]


def compare_steps(lanes: Sequence[Lane], *, host: Sequence[HostSteps | None]) -> StepTable:
    """Return the times of the steps that at least two lanes have complete."""
    items = [lane.steps.items if lane.steps else () for lane in lanes]
    of_lanes = [np.array([item.number for item in own], np.int64) for own in items]
    distinct, counts = np.unique(np.concatenate([np.empty(0, np.int64), *of_lanes]), return_counts=True)
    numbers = distinct[counts >= _FEWEST_LANES]
    table = StepTable(numbers, *(np.full((len(numbers), len(lanes)), np.nan) for _ in fields(StepTable)[1:]))
    for column, (own, of_lane, hosted) in enumerate(zip(items, of_lanes, host, strict=True)):
        places = np.flatnonzero(np.isin(of_lane, numbers))
        at = np.searchsorted(numbers, of_lane[places])
        budgets = [own[place].budget for place in places.tolist()]
        table.whole[at, column] = [budget.window_ns for budget in budgets]
        table.own[at, column] = [budget.window_ns - budget.exposed_ns for budget in budgets]
        table.compute[at, column] = [budget.compute_ns for budget in budgets]
        table.idle[at, column] = [budget.idle_ns for budget in budgets]
        if hosted is not None:
            table.launch_delays[at, column] = hosted.launch_delays[places]
            if hosted.data_loading is not None:
                table.data_loading[at, column] = hosted.data_loading[places]
    return table


def find_stragglers(
    table: StepTable, *, caused: Int64s, clocks: Sequence[int | None], has_communication: bool
) -> tuple[Straggler, ...]:
    """Return the lanes that are 20 % over the median lane in most steps, the costliest first.

    Where ranks synchronise, all steps are equally long. What counts is a lane's own time: the step without exposed
    communication, most of which is waiting for others.

    Args:
        table: times of steps.
        caused: how long others waited for each lane inside their collectives, hidden waits left out; ns.
        clocks: median clock of each lane's GPU in Hz, None where it was not sampled.
        has_communication: whether any lane communicates.
    """
    if len(table.numbers) == 0 or not has_communication:
        return ()
    over = table.own > _OVER_MEDIAN * np.nanmedian(table.own, axis=1, keepdims=True)
    present = ~np.isnan(table.own)
    ratios = clock_ratios(clocks)
    found = [
        _straggler(
            table,
            lane,
            steps=(int(over[:, lane].sum()), int(present[:, lane].sum())),
            lost_ns=int(caused[lane]),
            clock_ratio=ratios[lane],
        )
        for lane in range(len(caused))
        if 2 * over[:, lane].sum() > present[:, lane].sum()
    ]
    return tuple(sorted(found, key=lambda one: (-one.lost_ns, one.lane)))


def straggler_notes(lanes: Sequence[Lane], table: StepTable) -> tuple[str, ...]:
    """Say why no straggler could have been found, where lanes communicate."""
    if not _communicate(lanes):
        return ()
    if len(lanes) == 1:
        return (ONE_LANE,)
    return () if len(table.numbers) else (NO_COMMON_STEPS,)


def spread_of_steps(table: StepTable) -> tuple[StepSpread, ...]:
    """Return for every step that at least two lanes have how far they are apart, in order of number."""
    if len(table.numbers) == 0:
        return ()
    columns = (
        table.numbers,
        (~np.isnan(table.own)).sum(axis=1),
        np.nanargmax(table.own, axis=1),
        *(
            statistic(times, axis=1).round().astype(np.int64)
            for times in (table.own, table.compute, table.whole)
            for statistic in (np.nanmax, np.nanmedian)
        ),
    )
    names = [field.name for field in fields(StepSpread)]
    return tuple(
        StepSpread(**dict(zip(names, row, strict=True)))
        for row in zip(*(column.tolist() for column in columns), strict=True)
    )


def _communicate(lanes: Sequence[Lane]) -> bool:
    return any(lane.budget.communication_ns for lane in lanes)


def _straggler(
    table: StepTable, lane: int, *, steps: tuple[int, int], lost_ns: int, clock_ratio: float | None
) -> Straggler:
    own, compute, data, delay, idle = (
        _excess(times, lane)
        for times in (table.own, table.compute, table.data_loading, table.launch_delays, table.idle)
    )
    excess = {
        SlowBy.COMPUTE: compute,
        SlowBy.DATA_LOADING: data,
        SlowBy.LAUNCHES: max(delay, idle - max(data, 0.0)),
    }
    strongest = max(excess, key=lambda what: excess[what])
    compute_ratio = _ratio(table.compute, lane) or 1.0
    differs = strongest if excess[strongest] > _SAYS_SOMETHING * own else SlowBy.UNKNOWN
    if differs is SlowBy.COMPUTE and _is_by_clocks(clock_ratio, compute_ratio):
        differs = SlowBy.CLOCKS
    return Straggler(
        lane=lane,
        steps=steps,
        compute_ratio=compute_ratio,
        launch_delay_ns=round(delay),
        data_ratio=_ratio(table.data_loading, lane),
        what_differs=differs,
        lost_ns=lost_ns,
        clock_ratio=clock_ratio,
    )


def _is_by_clocks(clock_ratio: float | None, compute_ratio: float) -> bool:
    """Say whether a lower clock explains most of the longer compute: time grows as the clock falls."""
    if clock_ratio is None or clock_ratio > _LOWER_CLOCK:
        return False
    return 1 / clock_ratio - 1 >= _MOST * (compute_ratio - 1)


def _excess(times: Floats, lane: int) -> float:
    """Return by how much a lane is over the median lane, as a median over steps, in ns; 0 where not known."""
    seen = times[~np.isnan(times).any(axis=1)] if len(times) else times
    return float(np.median(seen[:, lane] - np.median(seen, axis=1))) if len(seen) else 0.0


def _ratio(times: Floats, lane: int) -> float | None:
    """Return a lane's time to the median lane's, as a median over steps; None where not known."""
    seen = times[~np.isnan(times).any(axis=1)]
    usual = np.median(seen, axis=1) if len(seen) else np.zeros(0)
    known = usual > 0
    return float(np.median(seen[known, lane] / usual[known])) if known.any() else None
