"""Scales a snapshot to one unit, so that two captures of different lengths can be compared."""

from __future__ import annotations

from dataclasses import fields
from fractions import Fraction
from itertools import accumulate, pairwise
from statistics import median
from typing import TYPE_CHECKING

from gapfinder.budget import Budget
from gapfinder.compare.difference import Side, Unit
from gapfinder.model import NO_COMMUNICATION
from gapfinder.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.compare.snapshot import LaneSnapshot

_PARTS = tuple(field.name for field in fields(Budget) if field.name != "window_ns")


def common_unit(*sides: Sequence[LaneSnapshot]) -> Unit:
    """Return a step where every side has steps, else a second."""
    return Unit.STEP if all(any(lane.steps for lane in lanes) for lanes in sides) else Unit.SECOND


def lanes_with_unit(lanes: Sequence[LaneSnapshot], *, unit: Unit) -> list[LaneSnapshot]:
    """Return the lanes that have what the unit asks for: for a step those with steps."""
    return [lane for lane in lanes if lane.steps or unit is Unit.SECOND]


def side(lanes: Sequence[LaneSnapshot], *, unit: Unit) -> Side:
    """Return what happens in one unit on one of `lanes`, of which there is at least one and all are measured."""
    steps = [step.budget for lane in lanes for step in lane.steps]
    lengths = [step.window_ns for step in steps]
    if unit is Unit.STEP:
        budget = _scaled(steps, window_ns=round(Fraction(sum(lengths), len(lengths))))
    else:
        budget = _scaled([lane.budget for lane in lanes], window_ns=NS_PER_S)
    ratio, reason = overlap(lanes)
    return Side(
        budget=budget,
        steps=len(steps),
        p50_ns=round(median(map(Fraction, lengths))) if steps else None,
        idle_reason=next((lane.idle_reason for lane in lanes if lane.idle_reason), None),
        overlap_ratio=ratio,
        overlap_reason=reason,
    )


def overlap(lanes: Sequence[LaneSnapshot]) -> tuple[float | None, str | None]:
    """Return the overlap ratio over lanes, or why there is none; beside a ratio the reason is one that all share."""
    for lane in lanes:
        if lane.overlap_ratio is None and lane.overlap_reason != NO_COMMUNICATION:
            return None, lane.overlap_reason
    communication = sum(lane.budget.communication_ns for lane in lanes)
    reasons = {lane.overlap_reason for lane in lanes if lane.budget.communication_ns or not communication}
    reason = reasons.pop() if len(reasons) == 1 else None
    return sum(lane.budget.hidden_ns for lane in lanes) / communication if communication else None, reason


class Scale:
    """Turns times and counts of the lanes' whole windows, all lanes together, into those of one unit of one lane.

    The windows hold as many steps as their compute is times that of the mean step: a first step that loads code, or one
    that is cut, is longer or shorter in time, but its share of the work is what it is. Graphs count as compute; without
    either, the window's length is taken. A second holds the mean of the windows, where both come to the same.
    """

    def __init__(self, lanes: Sequence[LaneSnapshot], *, unit: Budget) -> None:
        budgets = [lane.budget for lane in lanes]
        computed = sum(map(_computing, budgets))
        if computed and _computing(unit):
            self._factor = Fraction(_computing(unit), computed)
        else:
            self._factor = Fraction(unit.window_ns, sum(budget.window_ns for budget in budgets))

    def time(self, ns: int) -> int:
        """Return a time in one unit, in ns."""
        return round(ns * self._factor)

    def count(self, number: int) -> float:
        """Return how often it is in one unit."""
        return float(number * self._factor)


def _computing(budget: Budget) -> int:
    return budget.compute_ns + budget.graph_only_ns


def _scaled(budgets: Sequence[Budget], *, window_ns: int) -> Budget:
    """Return the sum of budgets as one of `window_ns`, whose parts add up to it exactly.

    Not the parts are rounded but their running sums, so each is off by less than 1 ns and the last sum by nothing.
    """
    sums = [sum(getattr(budget, part) for budget in budgets) for part in _PARTS]
    factor = Fraction(window_ns, sum(sums))
    edges = [round(edge * factor) for edge in accumulate(sums, initial=0)]
    parts = [end - start for start, end in pairwise(edges)]
    return Budget(window_ns=window_ns, **dict(zip(_PARTS, parts, strict=True)))
