"""Short ways to write jobs for the rules: every lane's window is one second, blank only where causes say so."""

from __future__ import annotations

from dataclasses import replace
from statistics import median

from analysis_values import MS, analysis, budget, lane, steps_of, total

from gapfinder.budget import Window
from gapfinder.explanations import Buckets, Cause, CollectiveSummary, Evidence, Finding, HostActivity
from gapfinder.findings import explained
from gapfinder.model import Analysis, Hole, Lane, Step
from gapfinder.stragglers import SlowBy, StepSpread, Straggler

SECOND = 1_000 * MS
_EXPOSED = {Cause.EXPOSED_TRANSFER, Cause.EXPOSED_WAIT, Cause.EXPOSED_COMMUNICATION, Cause.PIPELINE_BUBBLE}
_COPIES = {Cause.HOST_TO_DEVICE_COPY, Cause.COPY}
QUIET_STEPS = ([100 * MS] * 8,)
"""Compute time of each step, for each lane: eight equal steps."""


def one_lane(
    causes: dict[Cause, int] | None = None,
    *,
    rank: int = 0,
    host: HostActivity | None = None,
    short_idle: int = 0,
    short_exposed: int = 0,
    evidence: Evidence | None = None,
    computing: list[int] | None = None,
) -> Lane:
    """Return a lane of one second whose holes are the causes; `computing` are the compute times of its steps.

    `short_idle` and `short_exposed` lie in blanks too short to be holes.
    """
    causes = causes or {}
    blank = sum(causes.values())
    exposed = sum(ns for cause, ns in causes.items() if cause in _EXPOSED)
    copies = sum(ns for cause, ns in causes.items() if cause in _COPIES)
    spent = budget(
        compute=SECOND - blank - short_idle - short_exposed,
        exposed=exposed + short_exposed,
        copies=copies,
        idle=blank - exposed - copies + short_idle,
    )
    computing = [100 * MS] * 8 if computing is None else computing
    steps = steps_of([budget(compute=ns) for ns in computing], mean=100 * MS, p50=100 * MS, p99=100 * MS)
    made = lane(spent, rank=rank, pid=100 + rank, device=rank, overlap_reason="none", steps=steps)
    top = tuple(whole_hole(cause, ns, evidence=evidence) for cause, ns in causes.items())
    holes = replace(made.holes, count=len(causes), total_ns=blank, top=top)
    return replace(made, causes=causes, host=host or HostActivity(), holes=holes)


def whole_hole(cause: Cause, ns: int, *, evidence: Evidence | None = None) -> Hole:
    """Return one hole that has one cause alone."""
    seen = replace(evidence or Evidence(), shares={cause: ns})
    return Hole(
        start_ns=0,
        end_ns=ns,
        idle_ns=ns,
        exposed_ns=0,
        copy_only_ns=0,
        cause=cause,
        evidence=seen,
        before=None,
        after=None,
    )


def find(analysis: Analysis) -> tuple[Finding, ...]:
    """Return what all rules find."""
    return explained(analysis).findings


def job(
    *lanes: Lane,
    collectives: tuple[CollectiveSummary, ...] = (),
    buckets: tuple[Buckets, ...] = (),
    stragglers: tuple[Straggler, ...] = (),
) -> Analysis:
    """Return a job of these lanes."""
    summed = total(len(lanes), lanes[0].budget, reason="none")
    made = analysis(*lanes, total=summed)
    return replace(
        made, collectives=collectives, buckets=buckets, stragglers=stragglers, step_spreads=_step_spreads(lanes)
    )


def _step_spreads(lanes: tuple[Lane, ...]) -> tuple[StepSpread, ...]:
    """Return how far lanes that only compute are apart in the steps that all of them have."""
    if len(lanes) == 1 or not all(one.steps for one in lanes):
        return ()
    by_step = zip(*(one.steps.items for one in lanes if one.steps), strict=False)
    return tuple(
        _step_spread(number, [step.budget.compute_ns for step in steps]) for number, steps in enumerate(by_step, 1)
    )


def _step_spread(number: int, times: list[int]) -> StepSpread:
    longest, middle = max(times), round(median(times))
    return StepSpread(
        number=number,
        lanes=len(times),
        slowest_lane=times.index(longest),
        slowest_own_ns=longest,
        median_own_ns=middle,
        slowest_compute_ns=longest,
        median_compute_ns=middle,
        longest_ns=longest,
        median_ns=middle,
    )


def lost(cause: Cause, ms: int = 100, *, lanes: int = 2, **others: object) -> Analysis:
    """Return a job in which every lane loses `ms` to one cause."""
    return job(*(one_lane({cause: ms * MS}, rank=rank) for rank in range(lanes)), **others)  # type: ignore[arg-type]


def collective(operation: str = "AllReduce", **others: object) -> CollectiveSummary:
    """Return ten instances of 4 ms on two lanes, half of them exposed and none of it waiting."""
    usual = CollectiveSummary(
        operation=operation,
        communicator="7",
        instances=10,
        unmatched=0,
        lanes=(0, 1),
        per_step=1.0,
        bytes_total=None,
        total_ns=80 * MS,
        hidden_ns=40 * MS,
        exposed_ns=40 * MS,
        wait_ns=0,
        transfer_ns=80 * MS,
        algorithm_bandwidth=None,
        bus_bandwidth=None,
        ideal_ns=None,
        late_lane=None,
        late_share=None,
    )
    return replace(usual, **others)  # type: ignore[arg-type]


def bucket(**others: object) -> Buckets:
    """Return gradient synchronisation as it should be: early, shorter than backward, done with it."""
    usual = Buckets(
        lane=0,
        per_step=4.0,
        start_into_backward=0.2,
        after_backward_ns=0,
        backward_ns=50 * MS,
        median_ns=4 * MS,
        micro_steps=1,
    )
    return replace(usual, **others)  # type: ignore[arg-type]


def slow(lane_index: int, lost_ms: int, **others: object) -> Straggler:
    """Return a lane that computes 1.3 times as long in every step."""
    usual = Straggler(
        lane=lane_index,
        steps=(8, 8),
        compute_ratio=1.3,
        launch_delay_ns=0,
        data_ratio=None,
        what_differs=SlowBy.COMPUTE,
        lost_ns=lost_ms * MS,
    )
    return replace(usual, **others)  # type: ignore[arg-type]


def step_times(lengths: list[int], *, rank: int = 0) -> Lane:
    """Return a lane whose steps are this long and all compute."""
    made = one_lane(rank=rank, computing=lengths)
    return replace(made, steps=replace(made.steps, items=tuple(_longer(step) for step in made.steps.items)))  # type: ignore[type-var, union-attr]


def _longer(step: Step) -> Step:
    return replace(step, window=Window(start_ns=0, end_ns=step.budget.compute_ns))
