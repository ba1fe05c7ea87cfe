"""Measures one lane: budget, overlap ratio, gaps, holes and steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.steps import StepWindows, measure_steps, step_windows
from gapfinder.analysis.timeline import HoleParts, Timeline
from gapfinder.errors import InputError
from gapfinder.explanations import Cause, Evidence, HostActivity
from gapfinder.model import Budget, Hole, Holes, Lane, Steps, Window
from gapfinder.tables import process_id

if TYPE_CHECKING:
    from gapfinder.analysis.lanes import LaneOperations
    from gapfinder.analysis.report import Report
    from gapfinder.settings import Settings

GRAPHS_HIDE_OVERLAP = (
    "CUDA graphs were traced whole, so communication inside them is not visible; capture with --cuda-graph-trace=node"
)
GRAPHS_HIDE_IDLE = "CUDA graphs were launched, but nothing they ran was captured; capture with --cuda-graph-trace=node"
NO_COMMUNICATION = "no communication was captured"
SINGLE_STREAM = "communication and compute share one stream, so they cannot overlap"
_GRAPH_NAME = "CUDA graph"


@dataclass(frozen=True, slots=True)
class Overlap:
    """An overlap ratio, or why there is none; `reason` beside a ratio explains it."""

    ratio: float | None
    reason: str | None


class LaneMeasurement:
    """One lane on the way from its operations to a `Lane`."""

    def __init__(self, operations: LaneOperations, *, report: Report, settings: Settings, span: Window) -> None:
        self.operations = operations
        self._report = report
        self._settings = settings
        self._timeline = Timeline(operations)
        self._is_untraced = operations.process in report.untraced_graphs
        self._step_windows, self._steps_reason = self._find_steps()
        self.window = self._window(span)

    def _find_steps(self) -> tuple[StepWindows | None, str | None]:
        """Return the lane's steps, or why there are none."""
        profile, process = self._report.profile, self.operations.process
        if not profile.has_nvtx:
            return None, "no NVTX ranges were captured"
        ranges = self._report.steps.get(process)
        if ranges is None:
            return None, "no NVTX range of this process matches the step pattern"
        if process not in self._report.launches:
            return None, "no CUDA API calls were captured, so GPU work cannot be assigned to steps"
        windows = step_windows(self.operations, ranges=ranges, launches=self._report.launches[process])
        return (windows, None) if len(windows) else (None, "no GPU work was launched inside a step")

    def _window(self, span: Window) -> Window | None:
        """Return what is measured of this lane; None when it has none of the steps asked for."""
        window: Window | None = span
        if self._settings.step_range is not None:
            window = self._window_of_steps(*self._settings.step_range)
        if self._settings.window is None or window is None:
            return window
        start, end = self._settings.window
        if self._settings.step_range is not None:
            start, end = max(start, window.start_ns), min(end, window.end_ns)
        if end <= start:
            raise InputError("--window and --steps have no time in common; ask for one of them")
        return Window(start_ns=start, end_ns=end)

    def _window_of_steps(self, first: int, end: int) -> Window | None:
        if self._step_windows is None:
            return None
        numbers = self._step_windows.numbers
        return self._step_windows.select((numbers >= first) & (numbers < end)).span()

    def step_numbers(self) -> list[int]:
        """Return the numbers of the lane's steps that have GPU work."""
        return self._step_windows.numbers.tolist() if self._step_windows else []

    def lane(self, window: Window, *, rank: int | None, gpu_name: str | None) -> Lane:
        """Return the lane's results inside `window`; what only a look at all lanes tells is left empty."""
        budget = self._timeline.budget(window)
        overlap = self._overlap(window, budget)
        gaps = self._timeline.gaps(window, min_gap=self._settings.min_gap_ns)
        parts = self._timeline.holes(window, min_gap=self._settings.min_gap_ns)
        steps = self._steps(window)
        operations = self.operations
        return Lane(
            file="",
            pid=process_id(operations.process),
            device=operations.device,
            rank=rank,
            gpu_name=gpu_name,
            shares_gpu_with=(),
            window=window,
            kernels=operations.compute.count_in(window) + operations.communication.only_kernels().count_in(window),
            ops=sum(kind.count_in(window) for kind in operations.by_kind),
            dropped_ops=operations.dropped,
            budget=budget,
            idle_reason=GRAPHS_HIDE_IDLE if self._is_untraced else None,
            overlap_ratio=overlap.ratio,
            overlap_reason=overlap.reason,
            peer_copy_ns=self._timeline.peer_copy_time(window),
            gaps=gaps,
            holes=self._holes(parts),
            causes=_causes(parts),
            host=HostActivity(),
            steps=steps,
            steps_reason=None if steps else self._steps_reason or "no step is complete inside the window",
        )

    def _steps(self, window: Window) -> Steps | None:
        if self._step_windows is None:
            return None
        asked = self._settings.step_range is not None
        steps = self._step_windows.complete(inside=window, keep_first=asked)
        return measure_steps(steps, timeline=self._timeline, is_overlap_visible=not self._is_untraced)

    def _overlap(self, window: Window, budget: Budget) -> Overlap:
        """Return hidden / communication, unless graphs hide it or there is no communication."""
        if self._is_untraced:
            return Overlap(None, GRAPHS_HIDE_IDLE)
        if self._timeline.graph_times(np.array([window.start_ns]), np.array([window.end_ns])).any():
            return Overlap(None, GRAPHS_HIDE_OVERLAP)
        if budget.overlap_ratio is None:
            return Overlap(None, NO_COMMUNICATION)
        return Overlap(budget.overlap_ratio, SINGLE_STREAM if self.operations.is_single_stream else None)

    def _holes(self, parts: HoleParts) -> Holes:
        longest = np.lexsort((parts.starts, -parts.lengths))[: self._settings.top]
        return Holes(
            min_gap_ns=self._settings.min_gap_ns,
            count=len(parts),
            total_ns=int(parts.lengths.sum()),
            top=tuple(self._hole(parts, int(place)) for place in longest),
        )

    def _hole(self, parts: HoleParts, place: int) -> Hole:
        start, end = int(parts.starts[place]), int(parts.ends[place])
        idle, exposed, copy = (int(part[place]) for part in (parts.idle, parts.exposed, parts.copy_only))
        by_cause = {Cause.EXPOSED_COMMUNICATION: exposed, Cause.COPY: copy, Cause.UNKNOWN: idle}
        return Hole(
            start_ns=start,
            end_ns=end,
            idle_ns=idle,
            exposed_ns=exposed,
            copy_only_ns=copy,
            cause=max(by_cause, key=lambda cause: by_cause[cause]),
            evidence=Evidence(shares={cause: ns for cause, ns in by_cause.items() if ns}),
            before=self._name_at(start, at_end=True),
            after=self._name_at(end, at_end=False),
        )

    def _name_at(self, time: int, *, at_end: bool) -> str | None:
        """Return the name of the compute kernel or graph that ends (or starts) at `time`; of several the first."""
        compute, graphs = self.operations.compute, self.operations.graphs
        codes: list[int] = compute.names[(compute.ends if at_end else compute.starts) == time].tolist()
        if codes:
            return min(self._report.kernel_names[code] for code in codes)
        return _GRAPH_NAME if ((graphs.ends if at_end else graphs.starts) == time).any() else None


def _causes(parts: HoleParts) -> dict[Cause, int]:
    """Return the hole time by cause: what is not communication or copy is not explained yet."""
    totals = {
        Cause.EXPOSED_COMMUNICATION: int(parts.exposed.sum()),
        Cause.COPY: int(parts.copy_only.sum()),
        Cause.UNKNOWN: int(parts.idle.sum()),
    }
    return {cause: total for cause, total in totals.items() if total}
