"""Processes that the others of their job wait for on the host: slow by their own time, step after step."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gapfinder.processes import Phase, SlowRank

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from gapfinder.analysis.intervals import Bools
    from gapfinder.processes import HostStep, TrainingProcess

    Floats = NDArray[np.float64]

_OVER_OTHERS = 1.2
_SHARE_OF_STEP = 0.1  # on a busy machine the optimizer alone varies by 7 % of a step between equal ranks
_FEWEST = 2
_OWN_PHASES = tuple(phase for phase in Phase if phase is not Phase.BACKWARD)

NOT_COMPARABLE = "slow ranks cannot be known: no two processes of one job have backward ranges in a step of one number"


def find_slow_ranks(processes: Sequence[TrainingProcess]) -> tuple[SlowRank, ...]:
    """Return the processes that are slower than the others of their job in most steps, the slowest first."""
    found = [slow for job in comparable_jobs(processes) for slow in _slow_in(job, processes)]
    return tuple(sorted(found, key=lambda one: (-one.lost_ns, one.process)))


def slow_rank_notes(processes: Sequence[TrainingProcess]) -> tuple[str, ...]:
    """Say why no slow rank could have been found, where several processes have steps."""
    several = sum(process.steps is not None for process in processes) >= _FEWEST
    return (NOT_COMPARABLE,) if several and not comparable_jobs(processes) else ()


def comparable_jobs(processes: Sequence[TrainingProcess]) -> list[list[int]]:
    """Return the places of processes that can be compared, job by job.

    Processes that tell one world size are of one job; where they tell a rank twice, those of one report are. Without
    backward ranges nobody knows when a process waited.
    """
    by_size: dict[int | None, list[int]] = {}
    for place, process in enumerate(processes):
        if process.steps is not None and process.steps.phases[Phase.BACKWARD]:
            by_size.setdefault(process.world_size, []).append(place)
    jobs = []
    for places in by_size.values():
        if _has_each_rank_once(places, processes):
            jobs.append(places)
            continue
        files = dict.fromkeys(processes[place].file for place in places)
        jobs += [[place for place in places if processes[place].file == file] for file in files]
    return [job for job in jobs if _has_each_rank_once(job, processes) and len(_common_numbers(job, processes))]


def _has_each_rank_once(places: Sequence[int], processes: Sequence[TrainingProcess]) -> bool:
    ranks = [processes[place].rank for place in places]
    told = [rank for rank in ranks if rank is not None]
    return len(set(told)) == len(told)


def _common_numbers(job: Sequence[int], processes: Sequence[TrainingProcess]) -> NDArray[np.int64]:
    """Return the numbers of the steps that at least two processes have, in order."""
    numbers = [np.array([step.number for step in _steps(processes[place])], np.int64) for place in job]
    distinct, counts = np.unique(np.concatenate(numbers), return_counts=True)
    return distinct[counts >= _FEWEST]


def _steps(process: TrainingProcess) -> tuple[HostStep, ...]:
    return process.steps.items if process.steps else ()


def _slow_in(job: Sequence[int], processes: Sequence[TrainingProcess]) -> list[SlowRank]:
    numbers = _common_numbers(job, processes)

    def table(measure: Callable[[HostStep], int]) -> Floats:
        """Return a time by step and process, shape (steps, processes); NaN where a process has no such step."""
        times = np.full((len(numbers), len(job)), np.nan)
        for column, place in enumerate(job):
            steps = _steps(processes[place])
            of_process = np.array([step.number for step in steps], np.int64)
            rows = np.searchsorted(numbers, of_process)
            common = np.flatnonzero(np.isin(of_process, numbers))
            times[rows[common], column] = np.array([measure(step) for step in steps], np.float64)[common]
        return times

    own = table(lambda step: step.duration_ns - step.phases[Phase.BACKWARD])
    length = np.nanmedian(table(lambda step: step.duration_ns), axis=1, keepdims=True)
    usual = _median_of_others(own)
    is_over = (own > _OVER_OTHERS * usual) & (own - usual >= _SHARE_OF_STEP * length)
    compared = (~np.isnan(own)).sum(axis=0)
    columns = np.flatnonzero(2 * is_over.sum(axis=0) > compared).tolist()
    if not columns:
        return []
    excess = {phase: _excess(table(lambda step, phase=phase: step.phases[phase])) for phase in _OWN_PHASES}  # type: ignore[misc]
    return [
        _slow_rank(
            job[column],
            own=own[:, column],
            usual=usual[:, column],
            is_over=is_over[:, column],
            excess={phase: times[:, column] for phase, times in excess.items()},
        )
        for column in columns
    ]


def _slow_rank(place: int, *, own: Floats, usual: Floats, is_over: Bools, excess: dict[Phase, Floats]) -> SlowRank:
    phase = max(excess, key=lambda one: float(excess[one][is_over].sum()))
    return SlowRank(
        process=place,
        steps=(int(is_over.sum()), int((~np.isnan(own)).sum())),
        own_ratio=float(np.median(own[is_over] / np.maximum(usual[is_over], 1))),
        phase=phase,
        phase_ns=round(float(np.median(excess[phase][is_over]))),
        lost_ns=round(float((own - usual)[is_over].sum())),
    )


def _excess(times: Floats) -> Floats:
    return times - _median_of_others(times)


def _median_of_others(times: Floats) -> Floats:
    """Return for each process of each step the median of the other processes that have the step.

    Args:
        times: shape (steps, processes); NaN where a process lacks the step, which at least two have.
    """
    order = np.argsort(times, axis=1, kind="stable")
    place = np.argsort(order, axis=1, kind="stable")
    in_order = np.take_along_axis(times, order, axis=1)
    count = (~np.isnan(times)).sum(axis=1, keepdims=True)

    def other(index: NDArray[np.int64]) -> Floats:
        """Return the value that has this place among the others."""
        return np.take_along_axis(in_order, index + (index >= place), axis=1)

    return (other((count - 2) // 2) + other((count - 1) // 2)) / 2
