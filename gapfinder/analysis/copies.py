"""Which copies are communication: between GPUs, or made by a collective that uses the copy engines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gapfinder.analysis.intervals import union
from gapfinder.analysis.launches import rows_by_code

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.analysis.intervals import Bools, Int64s, Intervals
    from gapfinder.analysis.launches import Launches


PAGEABLE = 0
"""nsys's number of pageable host memory (ENUM_CUDA_MEM_KIND)."""

# CUpti_ActivityMemcpyKind
HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2
_DEVICE_TO_DEVICE = 8
_PEER_TO_PEER = 10


def peer_copies(copies: pd.DataFrame) -> Bools:
    """Return which rows of COPIES go from one GPU to another; shape (n,)."""
    kind = copies["kind"].to_numpy()
    source, target = copies["source_device"].to_numpy(), copies["target_device"].to_numpy()
    peer: Bools = (kind == _DEVICE_TO_DEVICE) & (source >= 0) & (target >= 0) & (source != target)
    peer |= kind == _PEER_TO_PEER
    return peer


def pageable_copies(copies: pd.DataFrame) -> Bools:
    """Return which rows of COPIES read or write pageable host memory; shape (n,)."""
    kinds, sources, targets = (copies[name].to_numpy() for name in ("kind", "source_memory", "target_memory"))
    pageable: Bools = (kinds == HOST_TO_DEVICE) & (sources == PAGEABLE)
    pageable |= (kinds == DEVICE_TO_HOST) & (targets == PAGEABLE)
    return pageable


def collective_copies(copies: pd.DataFrame, *, ranges: pd.DataFrame, launches: dict[int, Launches]) -> Bools:
    """Return which rows of COPIES were launched inside an NCCL range: collectives on the copy engines; shape (n,).

    Args:
        copies: frame COPIES.
        ranges: frame RANGES.
        launches: CUDA API calls by process key.
    """
    kind = copies["kind"].to_numpy()
    collective = np.zeros(len(copies), np.bool_)
    nccl = ranges[(ranges["domain"] == "NCCL") & ~ranges["is_open"]]
    candidates = np.flatnonzero((kind == _DEVICE_TO_DEVICE) | (kind == _PEER_TO_PEER))
    if len(candidates) == 0 or nccl.empty:
        return collective
    inside = _covered_by_thread(nccl)
    correlations, processes = copies["correlation"].to_numpy()[candidates], copies["process"].to_numpy()[candidates]
    for process, mine in _rows_by_value(processes):
        if process not in launches:
            continue
        calls = launches[process].rows_of(correlations[mine])
        began = launches[process].starts_of(calls)
        for thread, rows in _rows_by_value(launches[process].threads_of(calls)):
            if thread in inside:
                collective[candidates[mine[rows]]] = inside[thread].holds(began[rows])
    return collective


def _covered_by_thread(ranges: pd.DataFrame) -> dict[int, Intervals]:
    """Return when each thread was inside at least one of the ranges."""
    starts, ends = ranges["start"].to_numpy(), ranges["end"].to_numpy()
    return {thread: union(starts[rows], ends[rows]) for thread, rows in _rows_by_value(ranges["thread"].to_numpy())}


def _rows_by_value(values: Int64s) -> Iterator[tuple[int, Int64s]]:
    """Yield each value that occurs with the rows that have it."""
    codes, found = pd.factorize(values)
    yield from zip(found.tolist(), rows_by_code(codes, len(found)), strict=True)
