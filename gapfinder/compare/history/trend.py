"""One metric over the runs of a branch, with the changes of its level."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.compare.history.change_points import change_points
from gapfinder.compare.history.file import history
from gapfinder.compare.history.rows import NS_PER_MS
from gapfinder.compare.history.runs import stored_runs
from gapfinder.compare.metrics import Unit

if TYPE_CHECKING:
    from pathlib import Path

    from gapfinder.compare.history.change_points import ChangePoint
    from gapfinder.compare.history.runs import Run
    from gapfinder.compare.metrics import Metric


@dataclass(frozen=True, kw_only=True, slots=True)
class Point:
    """One run of a trend.

    Attributes:
        value: a ratio or ns; None where the run could not measure it.
        change: that the level changed with this run; None where it did not.
    """

    run: Run
    value: float | None
    change: ChangePoint | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Trend:
    """A metric over the runs of a branch, oldest first."""

    metric: Metric
    branch: str
    points: tuple[Point, ...]


def trend(store: Path, *, metric: Metric, branch: str) -> Trend:
    """Return the metric over all runs of a branch; runs that could not measure it are skipped for the levels."""
    with history(store, writes=False) as database:
        runs = stored_runs(database, "branch = ?", (branch,))
        stored = database.execute("SELECT run, value FROM metrics WHERE metric = ?", (metric.name,)).fetchall()
    factor = NS_PER_MS if metric.unit is Unit.NS else 1
    values = {run: factor * float(value) for run, value in stored}
    measured = [run.id for run in runs if run.id in values]
    changes = {measured[one.at]: one for one in change_points([values[run] for run in measured])}
    return Trend(
        metric=metric,
        branch=branch,
        points=tuple(Point(run=run, value=values.get(run.id), change=changes.get(run.id)) for run in runs),
    )
