"""The history: measured trainings in one SQLite file, which other programs may read.

`gapfinder history`, `run`, `check`, `watch` and the dashboard write it with `record`; a check reads it with `recent`.
"""

from gapfinder.compare.history.results import ChangePoint, Point, Recorded, Run, Source, Trend
from gapfinder.compare.history.runs import accept, default_store, find_run, recent, record, remove, runs
from gapfinder.compare.history.trend import trend
from gapfinder.compare.history.values import metric_values

__all__ = [
    "ChangePoint",
    "Point",
    "Recorded",
    "Run",
    "Source",
    "Trend",
    "accept",
    "default_store",
    "find_run",
    "metric_values",
    "recent",
    "record",
    "remove",
    "runs",
    "trend",
]
