"""step-time-drift: steps get longer while the capture runs."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from gapfinder.findings.lost import amount, finding
from gapfinder.findings.page import Page
from gapfinder.findings.words import lane_names
from gapfinder.units import format_duration, format_share

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis, Step

DRIFT = 0.10
_FEWEST_STEPS = 9

PAGE = Page(
    code="step-time-drift",
    title="Steps get longer and longer",
    meaning=(
        "Late steps take longer than early ones: clocks fall as the card heats up, sequences or caches grow, memory "
        "fragments, logs or lists pile up."
    ),
    measured=(
        "With nine or more complete steps: the median step of the last third against that of the first third, 10 % "
        "or more on half of the lanes. Lost is only the growth of compute time; what grew in holes is charged to their "
        "causes."
    ),
    change=(
        (
            "Watch nvidia-smi dmon -s pucvmet during a run: falling clocks at high temperature mean cooling or power"
            " limits."
        ),
        (
            "Compare the first and the last steps: gapfinder analyze --steps FIRST:END on each, and see which cause "
            "grew."
        ),
        (
            "Where memory grows as well, look for tensors kept in lists with their graphs (append loss.item(), not "
            "loss)."
        ),
    ),
    beware="that the run will go on getting slower: a growing sequence length or a warming card levels off.",
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where late steps are longer than early ones on half of the lanes or more."""
    steps = {index: lane.steps.items for index, lane in enumerate(analysis.lanes) if lane.steps}
    growths = {index: _growth(items) for index, items in steps.items()}
    drifting = [index for index, growth in growths.items() if growth >= DRIFT]
    if not drifting or 2 * len(drifting) < len(steps):
        return None
    lost = sum(_compute_growth(steps[index]) for index in drifting)
    growth = format_share(median(growths[index] for index in drifting))
    cost = f"; longer compute cost {amount(analysis, lost)}" if lost else ""
    first, last = (format_duration(_length(third)) for third in _thirds(steps[drifting[0]]))
    return finding(
        analysis,
        PAGE,
        lost_ns=lost,
        detail=(
            f"On {lane_names(analysis, drifting)} steps grew by {growth} (on the first of them from {first} to {last})"
            f"{cost}."
        ),
        always=True,
    )


def _thirds(steps: tuple[Step, ...]) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """Return the first third of the steps, and the last."""
    third = len(steps) // 3
    return steps[:third], steps[-third:]


def _length(steps: tuple[Step, ...]) -> int:
    return round(median(step.window.duration_ns for step in steps))


def _growth(steps: tuple[Step, ...]) -> float:
    """Return how much longer the last third's median step is than the first third's; 0 with too few steps."""
    if len(steps) < _FEWEST_STEPS:
        return 0.0
    first, last = _thirds(steps)
    return _length(last) / _length(first) - 1


def _compute_growth(steps: tuple[Step, ...]) -> int:
    """Return the compute time of all steps beyond what it were if each had that of the first third's median step.

    Steps with less make up for steps with more: what only varies has not grown.
    """
    usual = median(step.budget.compute_ns for step in _thirds(steps)[0])
    return max(0, round(sum(step.budget.compute_ns - usual for step in steps)))
