"""What of a snapshot goes into which table of a history, beside the run itself and the whole snapshot."""

from __future__ import annotations

from fractions import Fraction
from statistics import median
from typing import TYPE_CHECKING

from gapfinder.compare.history.values import metric_values
from gapfinder.compare.metrics import METRICS, Unit
from gapfinder.units import NS_PER_MS

if TYPE_CHECKING:
    from gapfinder.compare.snapshot import LaneSnapshot, Snapshot

    Row = dict[str, str | int | float | None]

DETAIL_TABLES = ("metrics", "lanes", "causes", "findings")


def detail_rows(snapshot: Snapshot) -> dict[str, list[Row]]:
    """Return the rows of each of `DETAIL_TABLES`, without the number of the run."""
    rows = (_metrics(snapshot), _lanes(snapshot), _causes(snapshot), _findings(snapshot))
    return dict(zip(DETAIL_TABLES, rows, strict=True))


def _metrics(snapshot: Snapshot) -> list[Row]:
    rows: list[Row] = []
    for name, value in metric_values(snapshot).items():
        if METRICS[name].unit is Unit.RATIO:
            rows.append({"metric": name, "value": value, "unit": "ratio"})
        else:
            rows.append({"metric": name, "value": value / NS_PER_MS, "unit": "ms"})
    return rows


def _lanes(snapshot: Snapshot) -> list[Row]:
    return [_lane(place, lane) for place, lane in enumerate(snapshot.lanes)]


def _lane(place: int, lane: LaneSnapshot) -> Row:
    budget = lane.budget
    lengths = [Fraction(step.budget.window_ns) for step in lane.steps]
    return {
        "lane": place,
        "label": lane.label,
        "rank": lane.rank,
        "device": lane.device,
        "gpu_name": lane.gpu_name,
        "window_ns": budget.window_ns,
        "compute_only_ns": budget.compute_only_ns,
        "hidden_ns": budget.hidden_ns,
        "exposed_ns": budget.exposed_ns,
        "copy_only_ns": budget.copy_only_ns,
        "graph_only_ns": budget.graph_only_ns,
        "idle_ns": budget.idle_ns if lane.is_idle_known else None,
        "overlap_ratio": lane.overlap_ratio,
        "steps": len(lengths),
        "step_mean_ns": round(sum(lengths) / len(lengths)) if lengths else None,
        "step_p50_ns": round(median(lengths)) if lengths else None,
    }


def _causes(snapshot: Snapshot) -> list[Row]:
    return [
        {"lane": place, "cause": cause.value, "hole_ns": ns}
        for place, lane in enumerate(snapshot.lanes)
        if lane.is_idle_known
        for cause, ns in lane.causes.items()
    ]


def _findings(snapshot: Snapshot) -> list[Row]:
    return [
        {
            "place": place,
            "code": one.code,
            "severity": one.severity.value,
            "title": one.title,
            "lost_ns": one.lost_ns,
            "share": one.share,
            "lane": one.lane,
        }
        for place, one in enumerate(snapshot.findings)
    ]
