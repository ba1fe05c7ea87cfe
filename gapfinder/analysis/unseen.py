"""GPU work that was launched and is not in the report: where there is such work, idle time cannot be known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gapfinder.analysis.host_names import graph_launch_names, kernel_launch_names
from gapfinder.analysis.lanes import are_usable
from gapfinder.tables import PROCESS_MASK

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from gapfinder.load import Profile

GRAPHS_NOT_CAPTURED = (
    "CUDA graphs were launched, but nothing they ran was captured; capture with --cuda-graph-trace=node"
)
KERNELS_NOT_CAPTURED = "kernels were launched, but none was captured; capture with --trace=cuda and without a filter"
KERNELS_WITHOUT_TIMES = "kernels were launched, but none has a start and an end; export the report again"

_MOST_UNSEEN = 0.5
"""A capture that ends before the work does misses a few launches; more than half of them is no accident."""


def unseen_work(profile: Profile, calls: pd.DataFrame) -> dict[int, str]:
    """Return why idle time cannot be known, by process key, for processes whose launches left no GPU operation.

    Kernel launches tell only where a process has no kernel at all: kernels of a stopped capture are missing one by one.

    Args:
        profile: the report.
        calls: frame CALLS.
    """
    timed = profile.kernels[are_usable(profile.kernels["start"].to_numpy(), profile.kernels["end"].to_numpy())]
    lost = dict.fromkeys(_without_kernels(calls, timed), KERNELS_WITHOUT_TIMES)
    lost |= dict.fromkeys(_without_kernels(calls, profile.kernels), KERNELS_NOT_CAPTURED)
    return lost | dict.fromkeys(_mostly_unseen(_named(calls, graph_launch_names), profile), GRAPHS_NOT_CAPTURED)


def _without_kernels(calls: pd.DataFrame, kernels: pd.DataFrame) -> list[int]:
    """Return the processes that launched kernels and have none of these; mostly there is no process to look at."""
    processes = calls["thread"].to_numpy() & PROCESS_MASK
    with_kernels = pd.unique(kernels["process"].to_numpy())
    candidates = [process for process in pd.unique(processes).tolist() if process not in with_kernels]
    if not candidates:
        return []
    launches = _named(calls[np.isin(processes, candidates)], kernel_launch_names)
    return [int(process) for process in np.unique(launches["thread"].to_numpy() & PROCESS_MASK)]


def _named(calls: pd.DataFrame, is_wanted: Callable[[Iterable[str]], list[bool]]) -> pd.DataFrame:
    """Return the calls whose name is wanted."""
    wanted = np.flatnonzero(is_wanted(calls["name"].cat.categories))
    return calls[np.isin(calls["name"].cat.codes.to_numpy(), wanted)] if len(wanted) else calls.iloc[:0]


def _mostly_unseen(launches: pd.DataFrame, profile: Profile) -> list[int]:
    """Return the processes of whose launches more than half left no operation."""
    if launches.empty:
        return []
    wanted = pd.DataFrame({"process": launches["thread"] & PROCESS_MASK, "correlation": launches["correlation"]})
    seen = [
        frame.loc[np.isin(frame["correlation"], wanted["correlation"]), ["process", "correlation"]]
        for frame in (profile.kernels, profile.copies, profile.graphs)
    ]
    found = wanted.merge(pd.concat(seen).drop_duplicates(), how="left", indicator=True)
    share = (found["_merge"] == "left_only").groupby(found["process"]).mean()
    return [int(process) for process in share.index[share > _MOST_UNSEEN].tolist()]
