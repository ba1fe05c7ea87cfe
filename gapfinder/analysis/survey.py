"""What must be known of a whole lane before any stretch of it is measured: its window and its steps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.kernel_totals import NameTotals, name_totals
from gapfinder.analysis.step_ranges import NO_NVTX, NO_STEP_RANGES
from gapfinder.analysis.steps import StepWindows, first_and_last, step_windows
from gapfinder.analysis.stragglers import first_launches
from gapfinder.budget import ALWAYS, Window
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.lanes import LaneOperations
    from gapfinder.analysis.report import Report
    from gapfinder.settings import Settings


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Survey:
    """What was seen of a lane, or of a stretch of it.

    Attributes:
        span: first start to last end of what takes time; None when nothing does.
        totals: of its kernels, whatever was asked for.
        is_single_stream: communication and compute kernels were all on one stream.
        work: shape (step ranges,); the earliest start and the latest end of what each step launched, as
            `first_and_last` gives them; None where there are no step ranges or no launch calls.
        launches: shape (step ranges,); when the first call from each range's start on launched something; likewise.
    """

    span: Window | None
    totals: NameTotals
    is_single_stream: bool
    work: tuple[Int64s, Int64s] | None
    launches: Int64s | None


def survey_lane(operations: LaneOperations, *, report: Report, stretch: Window = ALWAYS) -> Survey:
    """Look at a lane, of which at least all that has a part in the stretch is at hand."""
    ranges, launches = report.steps.get(operations.process), report.launches.get(operations.process)
    work, first = None, None
    if ranges is not None and launches is not None:
        work = first_and_last(operations, ranges=ranges, launches=launches)
        first = first_launches(operations, launches=launches, starts=ranges.starts)
    return Survey(
        span=operations.span(),
        totals=name_totals(operations, names=len(report.kernel_names), begun_in=stretch),
        is_single_stream=operations.is_single_stream,
        work=work,
        launches=first,
    )


def joined_survey(parts: Sequence[Survey]) -> Survey:
    """Return what was seen in all stretches of a lane."""
    spans = [part.span for part in parts if part.span is not None]
    works = [part.work for part in parts if part.work is not None]
    launches = [part.launches for part in parts if part.launches is not None]
    totals = parts[0].totals
    for part in parts[1:]:
        totals += part.totals
    return Survey(
        span=Window(start_ns=min(one.start_ns for one in spans), end_ns=max(one.end_ns for one in spans))
        if spans
        else None,
        totals=totals,
        is_single_stream=all(part.is_single_stream for part in parts),
        work=(np.min([first for first, _ in works], axis=0), np.max([last for _, last in works], axis=0))
        if works
        else None,
        launches=np.min(launches, axis=0) if launches else None,
    )


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Scope:
    """What is measured of a lane.

    Attributes:
        process: its process key.
        span: first to last of its operations.
        window: what is measured; None when it has none of the steps asked for.
        all_steps: its steps that have GPU work, complete or not; None when no steps were found.
        steps: the complete ones inside the window.
        steps_reason: why no steps were found; None when they were.
        survey: what was seen of it.
    """

    process: int
    span: Window
    window: Window | None
    all_steps: StepWindows | None
    steps: StepWindows | None
    steps_reason: str | None
    survey: Survey


def scope_of(process: int, survey: Survey, *, span: Window, report: Report, settings: Settings) -> Scope:
    """Return what is to be measured of a lane with this span."""
    steps, reason = _find_steps(process, survey, report=report)
    window = _window(span, steps, settings=settings)
    complete = None
    if window is not None and steps is not None:
        complete = steps.complete(inside=window, keep_first=settings.step_range is not None)
    return Scope(
        process=process,
        span=span,
        window=window,
        all_steps=steps,
        steps=complete,
        steps_reason=reason,
        survey=survey,
    )


def _find_steps(process: int, survey: Survey, *, report: Report) -> tuple[StepWindows | None, str | None]:
    """Return a lane's steps, or why there are none."""
    if not report.profile.has_nvtx:
        return None, NO_NVTX
    ranges = report.steps.get(process)
    if ranges is None:
        return None, NO_STEP_RANGES
    if survey.work is None:
        return None, "no CUDA API calls were captured, so GPU work cannot be assigned to steps"
    windows = step_windows(*survey.work, ranges=ranges)
    return (windows, None) if len(windows) else (None, "no GPU work was launched inside a step")


def _window(span: Window, steps: StepWindows | None, *, settings: Settings) -> Window | None:
    """Return what is measured of a lane; None when it has none of the steps asked for."""
    window: Window | None = span
    if settings.step_range is not None:
        window = _window_of_steps(steps, *settings.step_range)
    if settings.window is None or window is None:
        return window
    start, end = settings.window
    if settings.step_range is not None:
        start, end = max(start, window.start_ns), min(end, window.end_ns)
    if end <= start:
        raise InputError("--window and --steps have no time in common; ask for one of them")
    return Window(start_ns=start, end_ns=end)


def _window_of_steps(steps: StepWindows | None, first: int, end: int) -> Window | None:
    if steps is None:
        return None
    return steps.select((steps.numbers >= first) & (steps.numbers < end)).span()
