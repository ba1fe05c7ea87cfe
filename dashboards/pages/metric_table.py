"""The metrics of two snapshots beside each other, with what became of each in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.compare.history import metric_values
from gapfinder.compare.judging import why_unmeasurable
from gapfinder.compare.metrics import METRICS, Unit
from gapfinder.compare.samples import common_steps
from gapfinder.compare.values import format_value
from gapfinder.render.table import Column, Kind, Table
from gapfinder.render.words import UNKNOWN
from gapfinder.units import format_change, format_growth, format_points_change

if TYPE_CHECKING:
    from gapfinder.compare.metrics import Metric
    from gapfinder.compare.snapshot import Snapshot

_AS_BEFORE = 0.005


def metric_table(before: Snapshot, after: Snapshot) -> Table:
    """Return one row for each metric; what could not be measured says why."""
    sides = metric_values(before), metric_values(after)
    rows = []
    for metric in METRICS.values():
        old, new = (values.get(metric.name) for values in sides)
        words = (
            _changed(metric, old, new) if old is not None and new is not None else _unmeasured(metric, before, after)
        )
        shown = [UNKNOWN if value is None else format_value(metric, value) for value in (old, new)]
        rows.append((f"{metric.words[0].upper()}{metric.words[1:]}", *shown, words))
    return Table(
        title="Metrics",
        caption="Over all lanes, in the steps that all of them have, as in gapfinder check.",
        columns=(
            Column("metric", Kind.WORD),
            Column("before"),
            Column("after"),
            Column("what became of it", Kind.NOTE),
        ),
        rows=tuple(rows),
    )


def _changed(metric: Metric, old: float, new: float) -> str:
    change = new - old
    if abs(change) <= _AS_BEFORE * (abs(old) if metric.unit is Unit.NS else 1.0):
        return "As before."
    word = "Better" if (change > 0) is metric.higher_is_better else "Worse"
    if metric.unit is Unit.RATIO:
        return f"{word}: {format_points_change(change)}."
    return f"{word}: {format_growth(old, new)} ({format_change(round(change))})."


def _unmeasured(metric: Metric, before: Snapshot, after: Snapshot) -> str:
    reasons = {
        when: why_unmeasurable(metric, snapshot, rows=common_steps(snapshot.lanes)) or "no steps that all lanes have"
        for when, snapshot in (("before", before), ("after", after))
        if metric.name not in metric_values(snapshot)
    }
    if len(set(reasons.values())) == 1:
        return f"Not measured {' and '.join(reasons)}: {next(iter(reasons.values()))}."
    return " ".join(f"Not measured {when}: {reason}." for when, reason in reasons.items())
