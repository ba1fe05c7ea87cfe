"""launch-bound: the host cannot launch as fast as the GPU computes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Cause
from gapfinder.findings.exposed import exposed_bill
from gapfinder.findings.lost import amount, finding, lost_to, measured_lanes, seen_in, short_blanks
from gapfinder.findings.page import Page
from gapfinder.units import format_duration

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis, Lane

TINY_NS = 10_000

PAGE = Page(
    code="launch-bound",
    title="The host launches too slowly for the GPU",
    meaning=(
        "The GPU waits between kernels because Python and the framework have not launched the next one yet: many "
        "tiny kernels, or work on the host between two launches (metrics, logging, a slow loop)."
    ),
    measured=(
        "Hole time in which the launching thread ran and was in no call that explains it. Where kernels take less than "
        "10 µs on average, as long as a framework needs to launch one, blanks too short for a hole count as well."
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
        "Move metrics, logging and Python loops out of the step, or into another process.",
        "Give each process its own cores (taskset, numactl) and set OMP_NUM_THREADS.",
    ),
    beware="that the host is slow in general: while the GPU has a queue of launches, host time costs nothing.",
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where the host was late."""
    tiny = [lane for _, lane in measured_lanes(analysis) if _has_tiny_kernels(lane)]
    blanks = sum(map(short_blanks, tiny))
    taken = min(blanks, exposed_bill(analysis).get("many-small-collectives", 0))
    in_holes = lost_to(analysis, Cause.LAUNCH_BOUND)
    lost = in_holes + blanks - taken
    detail = f"{amount(analysis, lost)}{seen_in(analysis, Cause.LAUNCH_BOUND)}"
    if tiny:
        launches = sum(lane.host.launches for lane in tiny)
        kernel = format_duration(sum(lane.host.kernel_ns for lane in tiny) // launches)
        launch = format_duration(sum(lane.host.launch_ns for lane in tiny) // launches)
        detail += f"; kernels take {kernel} on average, their launch calls {launch}"
    return finding(analysis, PAGE, lost_ns=lost, detail=f"{detail}.")


def _has_tiny_kernels(lane: Lane) -> bool:
    return bool(lane.host.launches) and lane.host.kernel_ns < TINY_NS * lane.host.launches
