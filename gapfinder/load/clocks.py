"""Reads how fast the GPUs were clocked, where nsys sampled it (--gpu-metrics-devices)."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gapfinder.load.schema import GPU_METRIC_NAMES, GPU_METRICS
from gapfinder.load.texts import decode
from gapfinder.tables import CLOCKS

if TYPE_CHECKING:
    import pandas as pd

    from gapfinder.load.database import Database

# "GPC Clock Frequency" up to 2022, "GPC Clock Frequency [MHz]" since; whatever it says, most exports hold Hz.
_CLOCK = re.compile(r"GPC Clock Frequency\b.*")
_SLOWEST_HZ, _HZ_PER_MHZ = 1_000_000, 1_000_000
# The lower 8 bits of a typeId are the number of the GPU (nsys2prv, which makes Paraver traces of exports, reads it so).
_GPU_MASK = 0xFF
_LARGEST = 2**31


def read_clocks(database: Database) -> pd.DataFrame:
    """Return the frame CLOCKS, without samples that are no clock."""
    wanted = {
        (kind, metric)
        for kind, metric, name in database.small_table(GPU_METRIC_NAMES, ("typeId", "metricId", "metricName"))
        if isinstance(kind, int) and isinstance(metric, int) and isinstance(name, bytes) and _CLOCK.match(decode(name))
    }
    columns = ("timestamp", "typeId", "metricId", "value")
    if not wanted or not all(database.has_column(GPU_METRICS, column) for column in columns):
        return CLOCKS.empty()
    metrics = sorted({metric for _, metric in wanted})
    samples = sorted(
        (time, kind & _GPU_MASK, value if value >= _SLOWEST_HZ else value * _HZ_PER_MHZ)
        for time, kind, metric, value in database.rows_among(GPU_METRICS, columns, column="metricId", values=metrics)
        if (kind, metric) in wanted and isinstance(time, int) and isinstance(kind, int)
        if isinstance(value, int) and 0 < value < _LARGEST * _HZ_PER_MHZ
    )
    times, gpus, clocks = zip(*samples, strict=True) if samples else ((), (), ())
    return CLOCKS.frame({"time": times, "gpu": gpus, "clock": clocks})
