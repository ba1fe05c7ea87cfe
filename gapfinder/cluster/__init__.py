"""Many reports at once: each is measured by one task, wherever that runs, and only what is kept of it travels."""

from gapfinder.cluster.dask import DaskWorkers
from gapfinder.cluster.measuring import LeftOut, Measured, measure_files
from gapfinder.cluster.workers import Workers, local_workers

__all__ = ["DaskWorkers", "LeftOut", "Measured", "Workers", "local_workers", "measure_files"]
