"""What the heat map of the steps can show, taken from the results."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

from dashboards.components.links import stretch_address
from dashboards.figures.steps import Grid
from gapfinder.findings.words import lane_name, process_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from dashboards.data.opening import OpenProfile
    from gapfinder.model import Analysis, Lane, Step


class Value(StrEnum):
    """A number of a lane's step; the value is its name in an address."""

    STEP_TIME = "time"
    OWN_TIME = "own"
    WAIT = "wait"
    OVERLAP = "overlap"
    IDLE = "idle"

    @property
    def words(self) -> str:
        """What it is called."""
        return _WORDS[self]


_WORDS = {
    Value.STEP_TIME: "step time",
    Value.OWN_TIME: "own time",
    Value.WAIT: "wait for others",
    Value.OVERLAP: "overlap ratio",
    Value.IDLE: "idle time",
}


def lane_grid(profile: OpenProfile, value: Value, *, lanes: Sequence[int], most_steps: int) -> tuple[Grid, int]:
    """Return a number of these lanes in their longest steps, in order, and how many steps there are in all."""
    analysis = profile.analysis
    by_lane = {index: {step.number: step for step in _steps(analysis.lanes[index])} for index in lanes}
    longest: dict[int, int] = {}
    for steps in by_lane.values():
        for number, step in steps.items():
            longest[number] = max(longest.get(number, 0), step.window.duration_ns)
    numbers = _longest(longest, most=most_steps)
    waits = _waits(analysis) if value is Value.WAIT else {}
    shown = [index for index in lanes if by_lane[index]]
    return Grid(
        title=value.words,
        labels=tuple(lane_name(analysis, index) for index in shown),
        numbers=numbers,
        values=tuple(
            tuple(
                waits.get((index, number))
                if value is Value.WAIT
                else _value(analysis.lanes[index], by_lane[index].get(number), value)
                for number in numbers
            )
            for index in shown
        ),
        is_ratio=value is Value.OVERLAP,
        links=tuple(tuple(_link(profile, index, by_lane[index].get(number)) for number in numbers) for index in shown),
    ), len(longest)


def host_grid(analysis: Analysis, *, most_steps: int) -> tuple[Grid, int]:
    """Return the length of the longest steps of each process on the host, and how many steps there are in all."""
    by_process = {
        index: {step.number: step.duration_ns for step in process.steps.items}
        for index, process in enumerate(analysis.processes)
        if process.steps
    }
    longest: dict[int, int] = {}
    for steps in by_process.values():
        for number, ns in steps.items():
            longest[number] = max(longest.get(number, 0), ns)
    numbers = _longest(longest, most=most_steps)
    return Grid(
        title=Value.STEP_TIME.words,
        labels=tuple(process_name(analysis, index) for index in by_process),
        numbers=numbers,
        values=tuple(tuple(steps.get(number) for number in numbers) for steps in by_process.values()),
        is_ratio=False,
        links=tuple(tuple(None for _ in numbers) for _ in by_process),
    ), len(longest)


def _steps(lane: Lane) -> Sequence[Step]:
    return lane.steps.items if lane.steps else ()


def _longest(lengths: Mapping[int, int], *, most: int) -> tuple[int, ...]:
    return tuple(sorted(sorted(lengths, key=lambda number: (-lengths[number], number))[:most]))


def _waits(analysis: Analysis) -> dict[tuple[int, int], int | None]:
    """Return what each lane waited for others in each step; what is not there was not measured."""
    steps = analysis.lane_steps
    if steps is None:
        return {}
    return {
        (lane, number): ns
        for number, row in zip(steps.numbers, steps.wait_ns, strict=True)
        for lane, ns in enumerate(row)
    }


def _value(lane: Lane, step: Step | None, value: Value) -> float | None:
    if step is None:
        return None
    match value:
        case Value.STEP_TIME:
            return step.window.duration_ns
        case Value.OWN_TIME:
            return step.window.duration_ns - step.budget.exposed_ns
        case Value.OVERLAP:
            return step.overlap_ratio
        case _:
            return step.budget.idle_ns if lane.is_idle_known else None


def _link(profile: OpenProfile, lane: int, step: Step | None) -> str | None:
    if step is None:
        return None
    return stretch_address(profile, lane=lane, start_ns=step.window.start_ns, end_ns=step.window.end_ns)
