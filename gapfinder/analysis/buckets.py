"""How gradient synchronisation lies to backward: when the first collective starts, and how much runs after the end."""

from __future__ import annotations

import re
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.hints import operation_hint
from gapfinder.analysis.intervals import Measure, union
from gapfinder.explanations import GRADIENT_OPERATIONS, Buckets
from gapfinder.tables import PROCESS_MASK

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.lanes import LaneOperations, Operations
    from gapfinder.analysis.report import Report
    from gapfinder.analysis.steps import StepWindows

    Extents = tuple[Int64s, Int64s]

_BACKWARD = re.compile(r"backward|(?<![a-z])bwd(?![a-z])", re.IGNORECASE)
_WHOLE_PASS = re.compile(r"\W*(?:loss\.)?(?:backward|bwd)(?:[ _-]?(?:pass|step))?[\W\d_]*(?:\(\))?\W*", re.IGNORECASE)
_LIMITS = np.iinfo(np.int64)


def backward_extents(lane: LaneOperations, *, report: Report, steps: StepWindows) -> Extents | None:
    """Return when backward began and ended on the GPU in each of the lane's complete steps; None without gradients.

    Backward is what was launched while an NVTX range of that name was open on the process. Without such a range it is
    what was launched by other threads than the one that pushes the step: PyTorch's autograd has threads of its own.
    """
    if len(steps) == 0 or len(_gradients(lane, report)) == 0:
        return None
    launches = report.launches[lane.process]
    own = _ranges_of(report.profile.ranges, lane.process)
    passes = union(*_matching(own, _BACKWARD.search))
    launched = launches.starts_of(lane.compute.calls)
    if len(passes):
        is_backward = passes.holds(launched)
    else:
        is_backward = launches.threads_of(lane.compute.calls) != _step_thread(own, steps)
    backward = lane.compute.select(is_backward)
    return _extent(backward, _steps_of(launched[is_backward], steps), len(steps))


def measure_buckets(
    lane: LaneOperations, *, report: Report, steps: StepWindows, backward: Extents | None
) -> Buckets | None:
    """Return medians over the lane's steps; None without gradient collectives, or where nothing tells what is backward.

    The lane's number is not known here and left 0.

    Args:
        lane: the lane, with all its communication.
        report: its report; launch calls tell which step an operation belongs to.
        steps: its complete steps.
        backward: what `backward_extents` found.
    """
    if backward is None:
        return None
    begins, ends = backward
    gradients = _gradients(lane, report)
    own = _ranges_of(report.profile.ranges, lane.process)
    gradient_steps = _steps_of(report.launches[lane.process].starts_of(gradients.calls), steps)
    first, _ = _extent(gradients, gradient_steps, len(steps))
    known = np.flatnonzero((ends > begins) & (first < _LIMITS.max))
    if len(known) == 0:
        return None
    begins, ends, first = begins[known], ends[known], first[known]
    measured = np.isin(gradient_steps, known)
    gradients = gradients.select(measured)
    after = Measure(gradients.covered()).within(ends, np.maximum(ends, np.append(first[1:], _LIMITS.max)))
    return Buckets(
        lane=0,
        per_step=len(gradients) / len(known),
        start_into_backward=float(np.median((first - begins) / (ends - begins))),
        after_backward_ns=ceil(float(np.median(after))),  # a bound of what is lost: half a ns is more than none
        backward_ns=round(float(np.median(ends - begins))),
        median_ns=round(float(np.median(gradients.ends - gradients.starts))),
        micro_steps=_micro_steps(*_matching(own, _WHOLE_PASS.fullmatch), steps=steps),
    )


def _gradients(lane: LaneOperations, report: Report) -> Operations:
    """Return the collectives that synchronise gradients."""
    codes = [code for code, name in enumerate(report.kernel_names) if operation_hint(name) in GRADIENT_OPERATIONS]
    return lane.communication.select(np.isin(lane.communication.names, codes))


def _ranges_of(ranges: pd.DataFrame, process: int) -> pd.DataFrame:
    own: pd.DataFrame = ranges[((ranges["thread"] & PROCESS_MASK) == process) & ~ranges["is_open"]]
    return own


def _matching(ranges: pd.DataFrame, matches: Callable[[str], object]) -> tuple[Int64s, Int64s]:
    """Return starts and ends of the ranges whose text matches."""
    names = ranges["name"].cat
    chosen = ranges[np.isin(names.codes, [code for code, text in enumerate(names.categories) if matches(text)])]
    return chosen["start"].to_numpy(), chosen["end"].to_numpy()


def _step_thread(ranges: pd.DataFrame, steps: StepWindows) -> int:
    """Return the thread that pushed the lane's first step."""
    is_step = ranges["start"].to_numpy() == steps.ranges.starts[steps.places[0]]
    is_step &= ranges["name"].to_numpy() == steps.ranges.names[int(steps.places[0])]
    threads = ranges["thread"].to_numpy()[is_step]
    return int(threads[0]) if len(threads) else 0


def _steps_of(launched: Int64s, steps: StepWindows) -> Int64s:
    """Return which of `steps` each launch call belongs to, -1 for none."""
    starts, ends = steps.ranges.starts[steps.places], steps.ranges.ends[steps.places]
    step = np.searchsorted(starts, launched, side="right") - 1
    return np.where((step >= 0) & (launched < ends[step]), step, -1)


def _extent(operations: Operations, steps: Int64s, count: int) -> Extents:
    """Return for each step the first start and the last end, largest and smallest number where it has none."""
    first, last = np.full(count, _LIMITS.max, np.int64), np.full(count, _LIMITS.min, np.int64)
    counts = (steps >= 0) & (operations.ends > operations.starts)
    np.minimum.at(first, steps[counts], operations.starts[counts])
    np.maximum.at(last, steps[counts], operations.ends[counts])
    return first, last


def _micro_steps(starts: Int64s, ends: Int64s, *, steps: StepWindows) -> int:
    """Return how many backward passes most steps have, as far as ranges tell; one inside another is the same pass."""
    order = np.lexsort((-ends, starts))
    before = np.append(_LIMITS.min, np.maximum.accumulate(ends[order])[:-1]) if len(order) else ends
    outermost = starts[order][ends[order] > before]
    counts = np.bincount(_steps_of(outermost, steps) + 1, minlength=len(steps) + 1)[1:]
    return max(1, int(np.median(counts)))
