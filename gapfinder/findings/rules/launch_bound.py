"""launch-bound: the host cannot launch as fast as the GPU computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Cause
from gapfinder.findings.lost import amount, finding, idle_in_short_blanks, lost_to, seen_in
from gapfinder.findings.page import Page
from gapfinder.units import NS_PER_MS, format_duration, format_mean_count

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis, Lane

TINY_NS = 10_000

PAGE = Page(
    code="launch-bound",
    title="The host launches too slowly for the GPU",
    meaning=(
        "The GPU waits between kernels because the framework has not launched the next one yet, although it does "
        "nothing but launch: many tiny kernels, each of which takes the host longer than the GPU."
    ),
    measured=(
        "Hole time in which the launching thread was in a CUDA call that nothing else explains, or between two calls "
        "at most 100 µs apart; longer silence is host-code. Where a launch gives the GPU less than 10 µs of work on "
        "average, as long as a framework needs for it, idle time in blanks too short for a hole counts as well."
    ),
    change=(
        (
            'Capture the step: torch.compile(mode="reduce-overhead"), or CUDA graphs '
            "(torch.cuda.make_graphed_callables)."
        ),
        (
            "Launch fewer kernels: fused=True or foreach=True in the optimizer, fused attention and norms, larger "
            "batches."
        ),
        "Give each process its own cores (taskset, numactl) and set OMP_NUM_THREADS.",
    ),
    beware="that the host is slow in general: while the GPU has a queue of launches, host time costs nothing.",
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where the host was late."""
    tiny = [lane for lane in analysis.measured_lanes().values() if _launches_little(lane)]
    lost = lost_to(analysis, Cause.LAUNCH_BOUND) + sum(map(idle_in_short_blanks, tiny))
    detail = f"{amount(analysis, lost)}{seen_in(analysis, Cause.LAUNCH_BOUND)}{_launching(analysis)}"
    return finding(analysis, PAGE, lost_ns=lost, detail=f"{detail}.")


def _launching(analysis: Analysis) -> str:
    """Return how often lanes launch, and what a launch gives and takes, on the lane that launches most."""
    lanes = [lane for lane in analysis.measured_lanes().values() if lane.host.launches]
    if not lanes:
        return ""
    busiest = max(lanes, key=lambda lane: lane.host.launches / lane.window.duration_ns)
    host = busiest.host
    often = host.launches * NS_PER_MS / busiest.window.duration_ns
    work, call = (format_duration(round(ns / host.launches)) for ns in (host.launched_ns, host.launch_ns))
    launches = format_mean_count(often, "launch")
    return f"; {launches} per ms, each of {work} of GPU work on average, in calls of {call}"


def _launches_little(lane: Lane) -> bool:
    return bool(lane.host.launches) and lane.host.launched_ns < TINY_NS * lane.host.launches
