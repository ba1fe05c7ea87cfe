"""Measures one lane: budget, overlap ratio, gaps, holes and steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.causes import ChargedHoles, HoleSources, charge_holes, hole_shares
from gapfinder.analysis.host_activity import ActivitySources, host_activity
from gapfinder.analysis.intervals import clip
from gapfinder.analysis.step_ranges import NO_NVTX, NO_STEP_RANGES
from gapfinder.analysis.steps import NO_COMPLETE_STEP, StepWindows, measure_steps, step_windows
from gapfinder.analysis.timeline import HoleParts, Timeline
from gapfinder.budget import Budget, Window
from gapfinder.errors import InputError
from gapfinder.explanations import Cause, Evidence, HostActivity
from gapfinder.model import NO_COMMUNICATION, Hole, Holes, Lane, Steps
from gapfinder.tables import process_id

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.analysis.intervals import Int64s, Intervals
    from gapfinder.analysis.lanes import LaneOperations
    from gapfinder.analysis.report import Report
    from gapfinder.settings import Settings

GRAPHS_HIDE_OVERLAP = (
    "CUDA graphs were traced whole, so communication inside them is not visible; capture with --cuda-graph-trace=node"
)
NAMES_NOT_CAPTURED = "kernel names were not captured, so communication cannot be told from compute"
SINGLE_STREAM = "communication and compute share one stream, so they cannot overlap"
GRAPH_NAME = "CUDA graph"


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
        self._idle_reason = report.unseen_work.get(operations.process)
        self._step_windows, self._steps_reason = self._find_steps()
        self.window = self._window(span)

    def _find_steps(self) -> tuple[StepWindows | None, str | None]:
        """Return the lane's steps, or why there are none."""
        profile, process = self._report.profile, self.operations.process
        if not profile.has_nvtx:
            return None, NO_NVTX
        ranges = self._report.steps.get(process)
        if ranges is None:
            return None, NO_STEP_RANGES
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

    def busy(self, window: Window) -> Intervals:
        """Return when at least one operation ran inside `window`."""
        return clip(self._timeline.busy, window=window)

    @property
    def all_steps(self) -> StepWindows | None:
        """The lane's steps that have GPU work, complete or not; None where none were found."""
        return self._step_windows

    def every_hole(self, window: Window) -> tuple[HoleParts, Int64s]:
        """Return the holes inside `window` and what `hole_shares` charges of each."""
        parts = self._timeline.holes(window, min_gap=self._settings.min_gap_ns)
        return parts, hole_shares(parts, sources=self._sources())

    def step_numbers(self) -> list[int]:
        """Return the numbers of the lane's steps that have GPU work."""
        return self._step_windows.numbers.tolist() if self._step_windows else []

    def lane(self, window: Window, *, rank: int | None, gpu_name: str | None) -> tuple[Lane, ChargedHoles]:
        """Return the lane's results inside `window`; what only a look at all lanes tells is left empty.

        With it come its holes, for causes can be told once the communication of all lanes is known.
        """
        budget = self._timeline.budget(window)
        overlap = self._overlap(window, budget)
        gaps = self._timeline.gaps(window, min_gap=self._settings.min_gap_ns)
        parts = self._timeline.holes(window, min_gap=self._settings.min_gap_ns)
        longest = np.lexsort((parts.starts, -parts.lengths))[: self._settings.top]
        charged = charge_holes(parts, sources=self._sources(), top=longest)
        steps = self._steps(window)
        operations = self.operations
        lane = Lane(
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
            idle_reason=self._idle_reason,
            overlap_ratio=overlap.ratio,
            overlap_reason=overlap.reason,
            peer_copy_ns=self._timeline.peer_copy_time(window),
            gaps=gaps,
            holes=self._holes(parts, longest, charged.top_evidence),
            causes={},
            host=self._activity(parts, window),
            steps=steps,
            steps_reason=None if steps else self._steps_reason or NO_COMPLETE_STEP,
        )
        return lane, charged

    def _steps(self, window: Window) -> Steps | None:
        steps = self.complete_steps(window)
        if steps is None:
            return None
        is_visible = self._idle_reason is None and self._report.profile.has_kernel_names
        return measure_steps(steps, timeline=self._timeline, is_overlap_visible=is_visible)

    def complete_steps(self, window: Window) -> StepWindows | None:
        """Return the lane's complete steps inside `window`; None when no steps were found."""
        if self._step_windows is None:
            return None
        asked = self._settings.step_range is not None
        return self._step_windows.complete(inside=window, keep_first=asked)

    def _overlap(self, window: Window, budget: Budget) -> Overlap:
        """Return hidden / communication, unless graphs hide it or there is no communication."""
        if self._idle_reason is not None:
            return Overlap(None, self._idle_reason)
        if not self._report.profile.has_kernel_names:
            return Overlap(None, NAMES_NOT_CAPTURED)
        if self._timeline.graph_times(np.array([window.start_ns]), np.array([window.end_ns])).any():
            return Overlap(None, GRAPHS_HIDE_OVERLAP)
        if budget.overlap_ratio is None:
            return Overlap(None, NO_COMMUNICATION)
        return Overlap(budget.overlap_ratio, SINGLE_STREAM if self.operations.is_single_stream else None)

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

    def _activity(self, parts: HoleParts, window: Window) -> HostActivity:
        operations, report = self.operations, self._report
        ranges = report.steps.get(operations.process)
        return host_activity(
            ActivitySources(
                lane=operations,
                copies=report.profile.copies.iloc[operations.copy_rows],
                launches=report.launches.get(operations.process),
                host=report.host_time(operations.process),
                holes=parts,
                window=window,
                steady_from=int(ranges.starts[1]) if ranges is not None and len(ranges) > 1 else None,
            )
        )

    def _holes(self, parts: HoleParts, top: Int64s, evidence: Sequence[Evidence]) -> Holes:
        return Holes(
            min_gap_ns=self._settings.min_gap_ns,
            count=len(parts),
            total_ns=int(parts.lengths.sum()),
            top=tuple(self._hole(parts, place, seen) for place, seen in zip(top.tolist(), evidence, strict=True)),
        )

    def _hole(self, parts: HoleParts, place: int, evidence: Evidence) -> Hole:
        start, end = int(parts.starts[place]), int(parts.ends[place])
        idle, exposed, copy = (int(part[place]) for part in (parts.idle, parts.exposed, parts.copy_only))
        return Hole(
            start_ns=start,
            end_ns=end,
            idle_ns=idle,
            exposed_ns=exposed,
            copy_only_ns=copy,
            cause=Cause.UNKNOWN,
            evidence=evidence,
            before=self._name_at(start, at_end=True),
            after=self._name_at(end, at_end=False),
        )

    def _name_at(self, time: int, *, at_end: bool) -> str | None:
        """Return the name of the compute kernel or graph that ends (or starts) at `time`; of several the first."""
        compute, graphs = self.operations.compute, self.operations.graphs
        codes: list[int] = compute.names[(compute.ends if at_end else compute.starts) == time].tolist()
        if codes:
            return min(self._report.kernel_names[code] for code in codes)
        return GRAPH_NAME if ((graphs.ends if at_end else graphs.starts) == time).any() else None
