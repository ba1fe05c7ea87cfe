"""Measures one lane, whole or one stretch after the other: budget, overlap ratio, gaps, holes and steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.buckets import backward_extents
from gapfinder.analysis.causes import HoleSources, charge_holes, hole_shares
from gapfinder.analysis.communication import computed_while_communicating
from gapfinder.analysis.host_activity import ActivitySources, host_activity
from gapfinder.analysis.intervals import clip
from gapfinder.analysis.kernel_totals import NameTotals, name_totals
from gapfinder.analysis.timeline import Timeline
from gapfinder.explanations import Cause
from gapfinder.model import Hole, Holes

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.analysis.buckets import Extents
    from gapfinder.analysis.causes import ChargedHoles
    from gapfinder.analysis.intervals import Int64s, Intervals
    from gapfinder.analysis.lanes import LaneOperations
    from gapfinder.analysis.report import Report
    from gapfinder.analysis.stretches import CountedCalls, Stretch
    from gapfinder.analysis.survey import Scope
    from gapfinder.analysis.timeline import HoleParts
    from gapfinder.explanations import Evidence, HostActivity
    from gapfinder.model import Gaps
    from gapfinder.settings import Settings

GRAPH_NAME = "CUDA graph"


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class LanePart:
    """What was measured in a stretch of a lane, or in several that follow each other.

    Attributes:
        kernels, ops: how many were counted.
        totals: of the kernels, inside the lane's window; nothing where that is its span, for the survey has them.
        parts: of the lane's window and of each of its steps, as far as they lie here; as `Timeline.parts` gives them;
            shape (1 + steps, 7), ns.
        graph_times: how long graphs ran in each of these; shape (1 + steps,), ns.
        peer_copy_ns: union of copies between GPUs.
        gaps, holes: those that lie here; no gap and no hole crosses a cut.
        charged: the holes' causes.
        activity: what the host did.
        clocks: sampled clocks of the GPU while it was busy, Hz.
        computed: when the lane computed while it communicated.
        backward: when each step's backward ran; None without gradients.
    """

    kernels: int
    ops: int
    totals: NameTotals
    parts: Int64s
    graph_times: Int64s
    peer_copy_ns: int
    gaps: Gaps
    holes: Holes
    charged: ChargedHoles
    activity: HostActivity
    clocks: Int64s
    computed: Intervals
    backward: Extents | None


class LaneMeasurement:
    """A stretch of one lane, of whose operations at least all that have a part in a stretch are at hand."""

    def __init__(
        self, operations: LaneOperations, *, report: Report, settings: Settings, scope: Scope, stretch: Stretch
    ) -> None:
        self.operations = operations
        self._report, self._settings = report, settings
        self._scope, self._stretch = scope, stretch
        self._timeline = Timeline(operations)

    def busy(self) -> Intervals:
        """Return when at least one operation ran in the stretch."""
        return clip(self._timeline.busy, window=self._stretch.inside)

    def every_hole(self) -> tuple[HoleParts, Int64s]:
        """Return the holes in the stretch and what `hole_shares` charges of each."""
        holes = self._timeline.holes(self._stretch.inside, min_gap=self._settings.min_gap_ns)
        return holes, hole_shares(holes, sources=self._sources())

    def part(self, *, clocks: Int64s, counted: CountedCalls | None = None) -> LanePart:
        """Measure the stretch; what only a look at all lanes tells is left out.

        Args:
            clocks: sampled clocks of the lane's GPU while it was busy in the stretch, Hz.
            counted: launch calls that were counted in earlier stretches; None where this one is all.
        """
        inside, window, begun_in = self._stretch.inside, self._stretch.window, self._stretch.begun_in
        min_gap, operations = self._settings.min_gap_ns, self.operations
        parts = self._timeline.holes(inside, min_gap=min_gap)
        longest = np.lexsort((parts.starts, -parts.lengths))[: self._settings.top]
        charged = charge_holes(parts, sources=self._sources(), top=longest)
        starts, ends = self._edges()
        kernels = operations.compute, operations.communication.only_kernels()
        steps = self._scope.steps
        return LanePart(
            kernels=sum(kind.count_in(window, begun_in=begun_in) for kind in kernels),
            ops=sum(kind.count_in(window, begun_in=begun_in) for kind in operations.by_kind),
            totals=self._totals(),
            parts=self._timeline.parts(starts, ends),
            graph_times=self._timeline.graph_times(starts, ends),
            peer_copy_ns=self._timeline.peer_copy_time(inside),
            gaps=self._timeline.gaps(inside, min_gap=min_gap),
            holes=self._holes(parts, longest, charged.top_evidence),
            charged=charged,
            activity=self._activity(parts, counted=counted),
            clocks=clocks,
            computed=computed_while_communicating(operations, window=window),
            backward=backward_extents(operations, report=self._report, steps=steps) if steps else None,
        )

    def _edges(self) -> tuple[Int64s, Int64s]:
        """Return the edges of the window and of each step, clipped to the stretch; shape (1 + steps,), ns."""
        window, inside, steps = self._stretch.window, self._stretch.inside, self._scope.steps
        starts, ends = np.array([window.start_ns], np.int64), np.array([window.end_ns], np.int64)
        if steps is not None:
            starts, ends = np.append(starts, steps.starts), np.append(ends, steps.ends)
        return np.clip(starts, inside.start_ns, inside.end_ns), np.clip(ends, inside.start_ns, inside.end_ns)

    def _totals(self) -> NameTotals:
        stretch, names = self._stretch, len(self._report.kernel_names)
        if stretch.window == self._scope.span:
            return NameTotals.nothing(names)
        return name_totals(self.operations, names=names, window=stretch.window, begun_in=stretch.begun_in)

    def _sources(self) -> HoleSources:
        operations, report = self.operations, self._report
        return HoleSources(
            lane=operations,
            copies=report.profile.copies.iloc[operations.copy_rows],
            ranges=report.profile.ranges,
            busy=self._timeline.busy,
            launches=report.launches.get(operations.process),
            host=report.host_time(operations.process),
        )

    def _activity(self, parts: HoleParts, *, counted: CountedCalls | None) -> HostActivity:
        operations, report = self.operations, self._report
        ranges = report.steps.get(operations.process)
        return host_activity(
            ActivitySources(
                lane=operations,
                copies=report.profile.copies.iloc[operations.copy_rows],
                launches=report.launches.get(operations.process),
                host=report.host_time(operations.process),
                holes=parts,
                stretch=self._stretch,
                counted=counted,
                steady_from=int(ranges.starts[1]) if ranges is not None and len(ranges) > 1 else None,
            )
        )

    def _holes(self, parts: HoleParts, top: Int64s, evidence: Sequence[Evidence]) -> Holes:
        before = self._names_at(parts.starts[top], at_end=True)
        after = self._names_at(parts.ends[top], at_end=False)
        return Holes(
            min_gap_ns=self._settings.min_gap_ns,
            count=len(parts),
            total_ns=int(parts.lengths.sum()),
            top=tuple(
                Hole(
                    start_ns=int(parts.starts[place]),
                    end_ns=int(parts.ends[place]),
                    idle_ns=int(parts.idle[place]),
                    exposed_ns=int(parts.exposed[place]),
                    copy_only_ns=int(parts.copy_only[place]),
                    cause=Cause.UNKNOWN,
                    evidence=seen,
                    before=last,
                    after=first,
                )
                for place, seen, last, first in zip(top.tolist(), evidence, before, after, strict=True)
            ),
        )

    def _names_at(self, times: Int64s, *, at_end: bool) -> list[str | None]:
        """Return the name of the compute kernel or graph that ends (or starts) at each time; of several the first."""
        compute, graphs = self.operations.compute, self.operations.graphs
        edges = compute.ends if at_end else compute.starts
        order = np.argsort(edges, kind="stable")
        firsts, lasts = (np.searchsorted(edges, times, side=side, sorter=order) for side in ("left", "right"))
        met = np.isin(times, graphs.ends if at_end else graphs.starts).tolist()
        found: list[str | None] = [GRAPH_NAME if is_graph else None for is_graph in met]
        for place in np.flatnonzero(firsts < lasts).tolist():
            codes = compute.names[order[firsts[place] : lasts[place]]].tolist()
            found[place] = min(self._report.kernel_names[code] for code in codes)
        return found
