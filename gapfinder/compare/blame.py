"""Which finding explains that a metric got worse."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gapfinder.compare.metrics import Metric
    from gapfinder.compare.snapshot import FindingTotal, Snapshot


def explaining(metric: Metric, *, candidate: Snapshot, baseline: Snapshot | None) -> tuple[FindingTotal, bool] | None:
    """Return the finding that grew most since the baseline and can explain the metric, and whether it is new.

    Without a baseline it is the one that costs most. None where nothing fitting was found or grew.
    """
    before: dict[str, float] = {}
    for old in () if baseline is None else baseline.findings:
        before[old.code] = before.get(old.code, 0.0) + old.share
    fitting = [
        one
        for one in candidate.findings
        if one.lost_ns > 0 and (metric.explained_by is None or one.code in metric.explained_by)
    ]
    grown = {one.code: sum(same.share for same in fitting if same.code == one.code) for one in fitting}
    growth = {code: share - before.get(code, 0.0) for code, share in grown.items()}
    worst = max(fitting, key=lambda one: (growth[one.code], one.lost_ns), default=None)
    if worst is None or growth[worst.code] <= 0:
        return None
    return worst, baseline is not None and worst.code not in before
