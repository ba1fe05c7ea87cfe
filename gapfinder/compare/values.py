"""Writes a metric's values and changes with their units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.compare.metrics import Unit
from gapfinder.units import MANY_TIMES, format_duration, format_growth, format_points, format_share

if TYPE_CHECKING:
    from gapfinder.compare.metrics import Metric


def format_value(metric: Metric, value: float) -> str:
    """Return a metric's value with its unit."""
    return format_share(value) if metric.unit is Unit.RATIO else format_duration(round(value))


def format_change(metric: Metric, change: float, *, old: float) -> str:
    """Return by how much something changed: points of a ratio, else the share of `old` and the time."""
    amount = format_amount(metric, change)
    if metric.unit is Unit.RATIO or old <= 0:
        return amount
    return f"{format_share(abs(change) / old)} ({amount})"


def format_move(metric: Metric, *, old: float, new: float) -> str:
    """Return how far something went ("by 19.9 % (1.234 ms)"); from 3 times on, to how many times as much."""
    if metric.unit is not Unit.RATIO and 0 < MANY_TIMES * old <= new:
        return f"{format_growth(old, new)} as much"
    return f"by {format_change(metric, new - old, old=old)}"


def format_amount(metric: Metric, change: float) -> str:
    """Return a change without its sign: points of a ratio, or a time."""
    return format_points(change) if metric.unit is Unit.RATIO else format_duration(round(abs(change)))
