"""Tells sends and receives between neighbours from collectives that NCCL makes of sends and receives."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.hints import UNKNOWN, operation_hint
from gapfinder.analysis.intervals import union

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from gapfinder.analysis.intervals import Bools
    from gapfinder.analysis.lanes import Operations
    from gapfinder.analysis.launches import Launches


_SEND_RECEIVE = "SendRecv"
_CALL = re.compile(r"p?nccl", re.IGNORECASE)
"""How the ranges of NCCL's own calls (ncclAllToAll) and of PyTorch's (nccl:all_to_all) begin."""


def are_passes(
    communication: Operations, *, kernel_names: Sequence[str], ranges: pd.DataFrame, launches: Launches | None
) -> Bools:
    """Return which operations are sends and receives by their kernel, and were not launched as part of a collective.

    An all-to-all has no kernel of its own: only the range of the call that launches it tells it from a send.

    Args:
        communication: operations of one process.
        kernel_names: text of each kernel name, by code.
        ranges: frame RANGES.
        launches: CUDA calls of the process; None where none was captured.
    """
    names = [code for code, name in enumerate(kernel_names) if operation_hint(name) == _SEND_RECEIVE]
    passes = np.isin(communication.names, names)
    if launches is None or not passes.any():
        return passes
    texts = ranges["name"].cat
    collectives = [code for code, text in enumerate(texts.categories) if _is_collective(text)]
    calls = ranges[np.isin(texts.codes, collectives) & ~ranges["is_open"]]
    began, threads = launches.starts_of(communication.calls), launches.threads_of(communication.calls)
    for thread in calls["thread"].unique().tolist():
        own = calls[calls["thread"] == thread]
        called = union(own["start"].to_numpy(), own["end"].to_numpy())
        passes &= ~((threads == thread) & called.holds(began))
    return passes


def _is_collective(text: str) -> bool:
    return _CALL.match(text) is not None and operation_hint(text) not in (UNKNOWN, _SEND_RECEIVE)
