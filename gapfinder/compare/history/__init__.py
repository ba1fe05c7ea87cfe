"""The history: measured trainings in one SQLite file, which other programs may read.

`gapfinder history`, `run`, `check`, `watch` and the dashboard write it with `record`; a check reads it with `recent`.
"""

from gapfinder.compare.history.runs import (
    Recorded,
    Run,
    Source,
    accept,
    default_store,
    find_run,
    recent,
    record,
    remove,
    runs,
)
from gapfinder.compare.history.trend import Point, Trend, trend
from gapfinder.compare.history.values import metric_values

__all__ = [
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
