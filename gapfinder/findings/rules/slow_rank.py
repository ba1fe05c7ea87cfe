"""slow-rank: one training process is slower on the host than the others, and they wait for it in backward."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.findings.lost import finding
from gapfinder.findings.page import Page
from gapfinder.findings.words import capitalised, process_name, subject
from gapfinder.processes import Phase
from gapfinder.units import format_duration, format_times

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis
    from gapfinder.processes import SlowRank

PAGE = Page(
    code="slow-rank",
    title="One rank is slower on the host than the others",
    meaning=(
        "Outside backward, a process takes 20 % longer than the others of its job in most steps. Gradients are "
        "exchanged in backward, so there all others wait until it comes."
    ),
    measured=(
        "Own time of each process and step (the step without backward ranges) against the median of the other "
        "processes in the step of that number: over it by 20 % and by 10 % of the step, in more than half of the steps."
        " The phase named is the one that differs most. Lost is what the others wait: the slowest one's excess for "
        "each of them, no more than their backward. Silent where the GPU work of several lanes tells: see straggler."
    ),
    change=(
        (
            "Look at what only that rank does in the phase named: logging, evaluation, checkpoint, its own shard of "
            "the data."
        ),
        "Where it is data loading, compare its storage, its number of workers and the CPU cores it may use.",
        "Where all its phases are longer, look at the machine: clocks, other processes, CPU affinity, memory.",
    ),
    beware=(
        "that its GPU is slow, of which host time tells little; and where processes wait for each other outside "
        "backward (an all-reduce by hand, FSDP's forward), that wait counts as own time."
    ),
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where a process is slow in most steps and no GPU work tells it better."""
    if not analysis.slow_ranks or analysis.step_spreads:
        return None
    names = [process_name(analysis, one.process) for one in analysis.slow_ranks]
    return finding(
        analysis,
        PAGE,
        lost_ns=0 if analysis.lanes else _waited(analysis),
        title=capitalised(f"{subject(names)} slower on the host than the others, which wait"),
        detail=f"{'; '.join(_described(analysis, one) for one in analysis.slow_ranks)}.",
        always=True,
    )


def _waited(analysis: Analysis) -> int:
    """Return how long the others waited in backward, summed over them; host time, as no lane tells of the GPU."""
    slow = {one.process for one in analysis.slow_ranks}
    longest = max(one.lost_ns for one in analysis.slow_ranks)
    others = [process.steps for index, process in enumerate(analysis.processes) if index not in slow and process.steps]
    return sum(min(longest, steps.phases[Phase.BACKWARD]) for steps in others)


def _described(analysis: Analysis, one: SlowRank) -> str:
    slow, steps = one.steps
    phase = "time in no range" if one.phase is Phase.OTHER else one.phase
    return (
        f"{process_name(analysis, one.process)} is slow in {slow} of {steps} steps: outside backward it takes "
        f"{format_times(one.own_ratio)} as long, mostly by {phase} ({format_duration(one.phase_ns)} more in a step)"
    )
