"""What is kept of each lane's communication when its report is gone, to be compared with the other lanes'."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gapfinder.analysis.hints import OPERATIONS, UNKNOWN, operation_hint
from gapfinder.analysis.intervals import intersect
from gapfinder.analysis.matching import LaneCommunication
from gapfinder.analysis.tracks import NOT_KNOWN

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.analysis.intervals import Bools, Int64s, Intervals
    from gapfinder.analysis.lanes import LaneOperations, Operations
    from gapfinder.analysis.payloads import Told
    from gapfinder.analysis.steps import StepWindows
    from gapfinder.budget import Window


_UNKNOWN = OPERATIONS.index(UNKNOWN)


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class KeptCommunication:
    """One lane's communication operations that have a part in its window; each array has shape (n,).

    Attributes:
        window: of the lane.
        starts, ends: ns, not cut at the window's edges.
        streams: CUDA stream number, for labels.
        stream_codes: one number per stream and context.
        operations: index into `hints.OPERATIONS`.
        is_pass: bool; a send or receive between neighbours, not a part of a collective.
        told: what payloads say about each.
        step_starts, step_ends, step_numbers: shape (steps,); the lane's complete steps.
        computed: when the lane computed while it communicated.
    """

    window: Window
    starts: Int64s
    ends: Int64s
    streams: Int64s
    stream_codes: Int64s
    operations: Int64s
    is_pass: Bools
    told: Told
    step_starts: Int64s
    step_ends: Int64s
    step_numbers: Int64s
    computed: Intervals

    def __len__(self) -> int:
        return len(self.starts)

    def to_match(self, *, clock: int) -> LaneCommunication:
        """Return what `match_job` needs; lanes with one number of `clock` share it."""
        return LaneCommunication(
            clock=clock,
            starts=self.starts,
            ends=self.ends,
            streams=self.stream_codes,
            operations=self.operations,
            communicators=self.told.communicators,
        )

    def steps_of(self) -> Int64s:
        """Return the number of the complete step that each operation began in, NOT_KNOWN for none."""
        step = np.searchsorted(self.step_starts, self.starts, side="right") - 1
        inside = (step >= 0) & (self.starts < np.append(self.step_ends, 0)[step])
        return np.where(inside, np.append(self.step_numbers, NOT_KNOWN)[step], NOT_KNOWN)


def computed_while_communicating(lane: LaneOperations, *, window: Window) -> Intervals:
    """Return when the lane computed while operations communicated that have a part in its window."""
    communication = lane.communication
    return intersect(lane.compute.covered(), communication.select(_are_kept(communication, window)).covered())


def _are_kept(communication: Operations, window: Window) -> Bools:
    inside = (communication.ends > communication.starts) & (communication.starts < window.end_ns)
    kept: Bools = inside & (communication.ends > window.start_ns)
    return kept


def keep_communication(  # noqa: PLR0913 (each of them is a different thing)
    lane: LaneOperations,
    *,
    kernel_names: Sequence[str],
    window: Window,
    steps: StepWindows | None,
    is_pass: Bools,
    told: Told,
    computed: Intervals,
) -> KeptCommunication:
    """Return what is kept of a lane.

    Args:
        lane: the lane, with all its communication.
        kernel_names: text of each kernel name, by code.
        window: what is measured of the lane.
        steps: its complete steps.
        is_pass: what `are_passes` says, for each of the lane's communication operations.
        told: what payloads say, for each of them.
        computed: when it computed while it communicated.
    """
    everything = lane.communication
    inside = _are_kept(everything, window)
    communication = everything.select(inside)
    contexts, streams = lane.communication_contexts[inside], lane.communication_streams[inside]
    context_codes, distinct = pd.factorize(contexts)
    hints = np.array([OPERATIONS.index(operation_hint(name)) for name in kernel_names] + [_UNKNOWN], np.int64)
    return KeptCommunication(
        window=window,
        starts=communication.starts,
        ends=communication.ends,
        streams=streams,
        stream_codes=pd.factorize(streams)[0] * max(len(distinct), 1) + context_codes,
        operations=hints[communication.names],
        is_pass=is_pass[inside],
        told=told.select(inside),
        step_starts=steps.starts if steps else np.empty(0, np.int64),
        step_ends=steps.ends if steps else np.empty(0, np.int64),
        step_numbers=steps.numbers if steps else np.empty(0, np.int64),
        computed=computed,
    )
