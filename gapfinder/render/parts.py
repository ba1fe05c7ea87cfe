"""The parts a window is divided into, in the order every report shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gapfinder.budget import Budget
    from gapfinder.model import Analysis, Lane


@dataclass(frozen=True, kw_only=True, slots=True)
class Part:
    """One of the parts that a window is divided into."""

    key: str
    label: str
    meaning: str
    measure: Callable[[Budget], int]


IDLE = Part(key="idle", label="idle", meaning="nothing runs", measure=lambda b: b.idle_ns)
_GRAPH = Part(
    key="graph",
    label="graph only",
    meaning="a CUDA graph traced whole runs, no kernel",
    measure=lambda b: b.graph_only_ns,
)
_PARTS = (
    Part(
        key="compute",
        label="compute only",
        meaning="kernels run, no communication",
        measure=lambda b: b.compute_only_ns,
    ),
    Part(key="hidden", label="hidden", meaning="communication behind compute", measure=lambda b: b.hidden_ns),
    Part(key="exposed", label="exposed", meaning="communication, no compute", measure=lambda b: b.exposed_ns),
    Part(key="copy", label="copy only", meaning="only copies or memsets run", measure=lambda b: b.copy_only_ns),
    _GRAPH,
    IDLE,
)


def parts(analysis: Analysis) -> tuple[Part, ...]:
    """Return the parts to show; graphs only where there are any."""
    return parts_of(lane.budget for lane in analysis.lanes)


def parts_of(budgets: Iterable[Budget]) -> tuple[Part, ...]:
    """Return the parts to show of these budgets; graphs only where there are any."""
    has_graphs = any(budget.graph_only_ns for budget in budgets)
    return tuple(part for part in _PARTS if has_graphs or part is not _GRAPH)


def is_known(lane: Lane, part: Part) -> bool:
    """Say whether the part was measured on this lane."""
    return part is not IDLE or lane.is_idle_known
