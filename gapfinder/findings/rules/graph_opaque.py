"""graph-opaque: what runs inside CUDA graphs was not captured."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Cause
from gapfinder.findings.lost import finding, lost_to
from gapfinder.findings.page import Page
from gapfinder.findings.words import lane_names
from gapfinder.units import format_share

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="graph-opaque",
    title="What runs inside CUDA graphs was not captured",
    meaning=(
        "nsys recorded whole graph launches, or not even those. Kernels and communication inside are not visible, so"
        " overlap cannot be known, and without graph rows idle time neither."
    ),
    measured=(
        "Time in which only a graph ran, or graph launches that left no GPU rows. Lost is hole time charged to "
        "graphs; the graphs themselves cost nothing."
    ),
    change=(
        ("Capture again with --cuda-graph-trace=node to see every kernel inside (it slows graph launches down)."),
        "Or turn graphs off for one diagnostic run.",
    ),
    beware="that graphs are slow: they remove launch overhead, and a healthy run may consist of them.",
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where graphs hide what ran."""
    opaque = [
        index
        for index, lane in enumerate(analysis.lanes)
        if lane.budget.graph_only_ns or not lane.is_idle_known or lane.causes.get(Cause.GRAPH_UNKNOWN)
    ]
    if not opaque:
        return None
    window = sum(lane.budget.window_ns for lane in analysis.lanes)
    share = format_share(sum(lane.budget.graph_only_ns for lane in analysis.lanes) / window)
    unseen = [index for index in opaque if not analysis.lanes[index].is_idle_known]
    detail = (
        f"On {lane_names(analysis, opaque)} overlap inside graphs is not known; graphs ran for {share} of the time."
    )
    if unseen:
        detail = (
            f"On {lane_names(analysis, unseen)} graphs were launched that left no trace: idle time is not known either."
        )
    lost = lost_to(analysis, Cause.GRAPH_UNKNOWN)
    return finding(analysis, PAGE, lost_ns=lost, detail=detail, always=True)
