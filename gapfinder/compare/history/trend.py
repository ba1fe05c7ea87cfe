"""One metric over the runs of a branch, with the changes of its level."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.compare.history.change_points import change_points
from gapfinder.compare.history.file import check_types, history
from gapfinder.compare.history.results import Point, Trend
from gapfinder.compare.history.runs import stored_runs
from gapfinder.compare.history.schema import METRICS
from gapfinder.compare.metrics import Unit
from gapfinder.units import NS_PER_MS

if TYPE_CHECKING:
    from pathlib import Path

    from gapfinder.compare.metrics import Metric


def trend(store: Path, *, metric: Metric, branch: str) -> Trend:
    """Return the metric over all runs of a branch; runs that could not measure it are skipped for the levels."""
    with history(store, writes=False) as database:
        runs = stored_runs(database, "branch = ?", (branch,))
        stored = list(database.table("metrics").rows_where("metric = ?", [metric.name]))
    for row in stored:
        check_types(row, table=METRICS)
    factor = NS_PER_MS if metric.unit is Unit.NS else 1
    values = {row["run"]: factor * float(row["value"]) for row in stored}
    measured = [run.id for run in runs if run.id in values]
    changes = {measured[one.at]: one for one in change_points([values[run] for run in measured])}
    return Trend(
        metric=metric,
        branch=branch,
        points=tuple(Point(run=run, value=values.get(run.id), change=changes.get(run.id)) for run in runs),
    )
