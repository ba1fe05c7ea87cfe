"""How a comparison writes its amounts: times of a step, or shares of the time where there are no steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.compare.difference import Unit
from gapfinder.render.table import NOTHING
from gapfinder.render.words import UNKNOWN
from gapfinder.units import (
    NS_PER_S,
    format_change,
    format_duration,
    format_growth,
    format_mean_count,
    format_points_change,
    format_share,
)

if TYPE_CHECKING:
    from gapfinder.compare.difference import Difference, Side


def amount(difference: Difference, ns: int | None) -> str:
    """Return a time of one unit; a dash for what is not there."""
    if ns is None:
        return NOTHING
    return format_duration(ns) if difference.unit is Unit.STEP else format_share(ns / NS_PER_S)


def change(difference: Difference, before_ns: int | None, after_ns: int | None) -> str:
    """Return how a time of one unit changed, with its sign; what is not there counts as 0."""
    moved = (after_ns or 0) - (before_ns or 0)
    return format_change(moved) if difference.unit is Unit.STEP else format_points_change(moved / NS_PER_S)


def amount_cells(difference: Difference, before_ns: int | None, after_ns: int | None) -> tuple[str, str, str, str]:
    """Return before, after, the change and the change as a share of before."""
    return (
        amount(difference, before_ns),
        amount(difference, after_ns),
        change(difference, before_ns, after_ns),
        format_growth(before_ns or 0, after_ns or 0),
    )


def count(value: float, *, difference: Difference) -> str:
    """Return how often something is in a unit, with the unit ("3 a step")."""
    return f"{format_mean_count(value)} {'a step' if difference.unit is Unit.STEP else 'a second'}"


def overlap_cell(side: Side | None) -> str:
    """Return an overlap ratio."""
    return UNKNOWN if side is None or side.overlap_ratio is None else format_share(side.overlap_ratio)
