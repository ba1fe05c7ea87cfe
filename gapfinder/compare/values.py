"""Writes a metric's values and changes with their units."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.compare.metrics import Unit
from gapfinder.units import format_duration, format_growth, format_points, format_share

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
    growth = format_growth(old, old + change) if change > 0 else format_share(-change / old)
    return f"{growth.removeprefix('+')} ({amount})"


def format_amount(metric: Metric, change: float) -> str:
    """Return a change without its sign: points of a ratio, or a time."""
    return format_points(change) if metric.unit is Unit.RATIO else format_duration(round(abs(change)))
