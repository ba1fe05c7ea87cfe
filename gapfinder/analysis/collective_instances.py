"""Every collective by itself, as each of its lanes saw it, and the communication of each step over all lanes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from gapfinder.analysis.intervals import Measure
from gapfinder.analysis.tracks import NOT_KNOWN
from gapfinder.explanations import StepCommunication
from gapfinder.tables import COLLECTIVES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gapfinder.analysis.collective_rows import CollectiveRows, Kind
    from gapfinder.analysis.communication import KeptCommunication
    from gapfinder.analysis.intervals import Int64s
    from gapfinder.model import Lane, Step


def collective_frame(rows: CollectiveRows, kinds: Sequence[Kind], *, kept: Sequence[KeptCommunication]) -> pd.DataFrame:
    """Return the frame COLLECTIVES.

    Args:
        rows: the operations of all lanes.
        kinds: what `rows.keys` counts.
        kept: communication of each lane.
    """
    hidden, exposed = (np.zeros(len(rows), np.int64) for _ in range(2))
    for number, lane in enumerate(kept):
        own = rows.lanes == number
        starts = np.clip(lane.starts, lane.window.start_ns, lane.window.end_ns)
        ends = np.clip(lane.ends, starts, lane.window.end_ns)
        hidden[own] = Measure(lane.computed).within(starts, ends)
        exposed[own] = ends - starts - hidden[own]
    has_ideal = rows.ideals != NOT_KNOWN
    share = np.full(len(rows), np.nan)
    share[has_ideal] = rows.ideals[has_ideal] / rows.moving[has_ideal]
    order, instances = _in_order(rows)
    columns: dict[str, NDArray[Any]] = {
        "start": rows.starts,
        "end": rows.ends,
        "lane": rows.lanes,
        "step": rows.steps,
        "instance": instances,
        "operation": np.array([kind.operation for kind in kinds], object)[rows.keys],
        "communicator": np.array([kind.communicator for kind in kinds], object)[rows.keys],
        "stream": rows.streams,
        "hidden": hidden,
        "exposed": exposed,
        "wait": np.where(rows.is_matched, rows.ends - rows.starts - rows.transfers, NOT_KNOWN),
        "transfer": rows.transfers,
        "late_lane": np.where(rows.is_matched, rows.late_lanes, NOT_KNOWN),
        "bytes": rows.sizes,
        "ranks": rows.ranks,
        "algorithm_bandwidth": rows.algorithm,
        "bus_bandwidth": rows.bus,
        "ideal": rows.ideals,
        "ideal_share": share,
        "is_matched": rows.is_matched,
        "is_grouped": rows.is_grouped,
    }
    return COLLECTIVES.frame({name: column[order] for name, column in columns.items()})


def _in_order(rows: CollectiveRows) -> tuple[Int64s, Int64s]:
    """Return the rows in order of their collective's first start on its first lane, and collectives numbered so."""
    by_lane = np.lexsort((rows.streams, rows.ends, rows.starts, rows.lanes))
    codes, _ = pd.factorize(rows.instances[by_lane])
    firsts = np.flatnonzero(~pd.Series(codes).duplicated().to_numpy())
    numbers = np.empty(len(firsts), np.int64)
    numbers[np.argsort(rows.starts[by_lane][firsts], kind="stable")] = np.arange(len(firsts))
    instances = np.empty(len(rows), np.int64)
    instances[by_lane] = numbers[codes]
    return np.lexsort((rows.lanes, instances)), instances


def step_communication(lanes: Sequence[Lane], rows: CollectiveRows) -> tuple[StepCommunication, ...]:
    """Return the communication of the complete steps of each number, in order."""
    steps: dict[int, list[Step]] = {}
    for lane in lanes:
        for step in lane.steps.items if lane.steps else ():
            steps.setdefault(step.number, []).append(step)
    numbers = np.array(sorted(steps), np.int64)
    waits, transfers, is_split, instances = _in_steps(rows, numbers)
    columns = (column.tolist() for column in (numbers, instances, waits, transfers, is_split))
    return tuple(
        _step(steps[number], instances=count, split=(wait, moved) if has_split else None)
        for number, count, wait, moved, has_split in zip(*columns, strict=True)
    )


def _in_steps(rows: CollectiveRows, numbers: Int64s) -> tuple[Int64s, Int64s, Int64s, Int64s]:
    """Return waits and transfers in ns, how many operations were matched, and collectives; shape (numbers,)."""
    inside = rows.steps != NOT_KNOWN
    at = np.searchsorted(numbers, rows.steps[inside])
    matched = rows.is_matched[inside]
    lengths, moved = (rows.ends - rows.starts)[inside], rows.transfers[inside]
    waits, transfers, counts = (np.zeros(len(numbers), np.int64) for _ in range(3))
    np.add.at(waits, at[matched], (lengths - moved)[matched])
    np.add.at(transfers, at[matched], moved[matched])
    pairs = pd.unique(rows.instances[inside] * max(len(numbers), 1) + at)
    np.add.at(counts, pairs % max(len(numbers), 1), 1)
    return waits, transfers, np.bincount(at[matched], minlength=len(numbers)), counts


def _step(steps: Sequence[Step], *, instances: int, split: tuple[int, int] | None) -> StepCommunication:
    """Return the sum of the steps of one number; `split` are wait and transfer in ns."""
    communication = sum(step.budget.communication_ns for step in steps)
    hidden = sum(step.budget.hidden_ns for step in steps)
    is_measured = all(
        step.overlap_ratio is not None or not (step.budget.communication_ns or step.budget.graph_only_ns)
        for step in steps
    )
    return StepCommunication(
        number=steps[0].number,
        lanes=len(steps),
        instances=instances,
        communication_ns=communication,
        hidden_ns=hidden,
        exposed_ns=communication - hidden,
        wait_ns=split[0] if split else None,
        transfer_ns=split[1] if split else None,
        overlap_ratio=hidden / communication if communication and is_measured else None,
    )
