"""One lane's activity as sets of time, and every question that is answered from them: budget, gaps, holes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.intervals import Measure, complement, merge
from gapfinder.budget import Budget, Window
from gapfinder.model import Gaps

if TYPE_CHECKING:
    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.lanes import LaneOperations


@dataclass(frozen=True, slots=True, eq=False)
class HoleParts:
    """Holes in order of time; each array has shape (n,), in ns, and idle + exposed + copy_only is the length."""

    starts: Int64s
    ends: Int64s
    idle: Int64s
    exposed: Int64s
    copy_only: Int64s

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def lengths(self) -> Int64s:
        """Length of each hole, shape (n,), ns."""
        return self.ends - self.starts


class Timeline:
    """When one lane computed, communicated, copied and ran graphs.

    Each part of the budget is the growth of a union as one kind is added to those before it, in the order compute,
    communication, graphs, copies; so the parts add up to the window by construction, for any window.
    """

    def __init__(self, lane: LaneOperations) -> None:
        compute, communication = lane.compute.covered(), lane.communication.covered()
        graphs, copies = lane.graphs.covered(), lane.copies.covered()
        kernels = merge(compute, communication)
        kernels_and_graphs = merge(kernels, graphs)
        self.busy = merge(kernels_and_graphs, copies)
        self._blocks_holes = merge(compute, graphs)
        self._compute, self._communication, self._graphs = Measure(compute), Measure(communication), Measure(graphs)
        self._kernels, self._kernels_and_graphs = Measure(kernels), Measure(kernels_and_graphs)
        self._busy = Measure(self.busy)
        self._peer_copies = Measure(lane.peer_copies.covered())

    def budget(self, window: Window) -> Budget:
        """Return where the window's time went; what crosses its edge counts as far as it lies inside."""
        (budget,) = as_budgets(self.parts(*_edges(window)))
        return budget

    def parts(self, starts: Int64s, ends: Int64s) -> Int64s:
        """Return what `as_budgets` takes for each window [start, end); `starts` and `ends` have shape (n,), ns."""
        window = ends - starts
        compute = self._compute.within(starts, ends)
        communication = self._communication.within(starts, ends)
        kernels = self._kernels.within(starts, ends)
        kernels_and_graphs = self._kernels_and_graphs.within(starts, ends)
        busy = self._busy.within(starts, ends)
        hidden = compute + communication - kernels
        columns = (
            window,
            compute - hidden,
            hidden,
            communication - hidden,
            busy - kernels_and_graphs,
            kernels_and_graphs - kernels,
            window - busy,
        )
        return np.stack(columns, axis=1)

    def graph_times(self, starts: Int64s, ends: Int64s) -> Int64s:
        """Return how long graphs ran in each window, kernels beside them or not; shape (n,), ns."""
        return self._graphs.within(starts, ends)

    def peer_copy_time(self, window: Window) -> int:
        """Return how long copies between GPUs ran in the window, in ns."""
        return int(self._peer_copies.within(*_edges(window))[0])

    def gaps(self, window: Window, *, min_gap: int) -> Gaps:
        """Return the idle intervals of at least `min_gap` ns."""
        gaps = complement(self.busy, window=window).at_least(min_gap)
        longest = int(gaps.lengths.max()) if len(gaps) else 0
        return Gaps(min_gap_ns=min_gap, count=len(gaps), total_ns=gaps.total, longest_ns=longest)

    def holes(self, window: Window, *, min_gap: int) -> HoleParts:
        """Return the intervals of at least `min_gap` ns without compute and graphs, each split into its parts."""
        holes = complement(self._blocks_holes, window=window).at_least(min_gap)
        exposed = self._communication.within(holes.starts, holes.ends)
        busy = self._busy.within(holes.starts, holes.ends)
        return HoleParts(holes.starts, holes.ends, holes.lengths - busy, exposed, busy - exposed)


def as_budgets(parts: Int64s) -> list[Budget]:
    """Return budgets from their values in the order of the fields; shape (n, 7), ns."""
    return [
        Budget(
            window_ns=row[0],
            compute_only_ns=row[1],
            hidden_ns=row[2],
            exposed_ns=row[3],
            copy_only_ns=row[4],
            graph_only_ns=row[5],
            idle_ns=row[6],
        )
        for row in parts.tolist()
    ]


def _edges(window: Window) -> tuple[Int64s, Int64s]:
    """Return a window as starts and ends of shape (1,)."""
    return np.array([window.start_ns], np.int64), np.array([window.end_ns], np.int64)
