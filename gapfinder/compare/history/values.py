"""The metrics of a whole snapshot, as a history keeps them."""

from __future__ import annotations

from math import isnan
from typing import TYPE_CHECKING

from gapfinder.compare.judging import why_unmeasurable
from gapfinder.compare.metrics import METRICS, Scope, Unit
from gapfinder.compare.noise import estimates
from gapfinder.compare.samples import common_steps, sampled

if TYPE_CHECKING:
    from gapfinder.compare.snapshot import Snapshot


def metric_values(snapshot: Snapshot) -> dict[str, float]:
    """Return every metric that could be measured, over all lanes: a ratio or ns.

    They are those of `gapfinder check`, over the steps that all lanes have; without steps a ratio is of the windows.
    """
    steps = common_steps(snapshot.lanes)
    has_steps = bool(steps[0])
    rows = steps if has_steps else [[lane.budget] for lane in snapshot.lanes]
    found = {}
    for metric in METRICS.values():
        if (has_steps or metric.unit is Unit.RATIO) and why_unmeasurable(metric, snapshot, rows=steps) is None:
            (estimate,) = estimates(sampled(metric, rows), metric=metric, scope=Scope.TOTAL)
            if not isnan(estimate.value):
                found[metric.name] = estimate.value
    return found
