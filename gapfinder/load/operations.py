"""Reads the GPU's operations and the CUDA API calls that launched them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gapfinder.load.names import Names
from gapfinder.load.schema import GRAPH_TRACE, KERNEL, MEMCPY, MEMSET, RUNTIME
from gapfinder.tables import CALLS, COPIES, GRAPHS, KERNELS, PROCESS_MASK
from gapfinder.tables import MEMSET as MEMSET_KIND

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from gapfinder.load.btree import Integers
    from gapfinder.load.database import Database

NO_TIME = -(2**63)
"""Stands for NULL in a time while reading: no clock shows it."""

_TIMES = {"start": NO_TIME, "end": NO_TIME}
_PLACE = {"globalPid": 0, "deviceId": -1, "contextId": -1, "streamId": -1, "correlationId": -1}
_KERNEL_NAMES = ("demangledName", "shortName", "mangledName")
_NO_ID = -1


def read_kernels(database: Database) -> pd.DataFrame:
    """Return the frame KERNELS."""
    sources = [column for column in _KERNEL_NAMES if database.has_column(KERNEL, column)]
    wanted = _TIMES | _PLACE | dict.fromkeys(sources[:1], _NO_ID)
    columns = database.integers(KERNEL, wanted, required=("start", "end"))
    place = _times_and_place(columns)
    return KERNELS.frame({**place, "name": _kernel_names(database, columns, sources).categorical()})


def read_copies(database: Database) -> pd.DataFrame:
    """Return the frame COPIES."""
    ends = dict.fromkeys(("copyKind", "bytes", "srcDeviceId", "dstDeviceId", "srcKind", "dstKind"), -1)
    memcpy = database.integers(MEMCPY, _TIMES | _PLACE | ends, required=("start", "end"))
    memset = database.integers(MEMSET, _TIMES | _PLACE | {"bytes": -1, "memKind": -1}, required=("start", "end"))
    unknown = np.full(len(memset["start"]), -1)
    memset |= {
        "copyKind": np.full(len(unknown), MEMSET_KIND),
        "srcDeviceId": unknown,
        "dstDeviceId": memset["deviceId"],
        "srcKind": unknown,
        "dstKind": memset.pop("memKind"),
    }
    both = {column: np.concatenate([memcpy[column], memset[column]]) for column in memcpy}
    return COPIES.frame(
        {
            **_times_and_place(both),
            "kind": both["copyKind"],
            "bytes": both["bytes"],
            "source_device": both["srcDeviceId"],
            "target_device": both["dstDeviceId"],
            "source_memory": both["srcKind"],
            "target_memory": both["dstKind"],
        }
    )


def read_graphs(database: Database) -> pd.DataFrame:
    """Return the frame GRAPHS."""
    columns = database.integers(GRAPH_TRACE, _TIMES | _PLACE | {"graphId": -1}, required=("start", "end"))
    return GRAPHS.frame({**_times_and_place(columns), "graph": columns["graphId"]})


def read_calls(database: Database) -> pd.DataFrame:
    """Return the frame CALLS."""
    wanted = _TIMES | {"globalTid": 0, "correlationId": -1, "nameId": _NO_ID}
    columns = database.integers(RUNTIME, wanted, required=("start", "end"))
    start, end = usable_times(columns)
    return CALLS.frame(
        {
            "start": start,
            "end": end,
            "thread": columns["globalTid"],
            "correlation": columns["correlationId"],
            "name": database.names(columns.pop("nameId")).categorical(),
        }
    )


def usable_times(columns: Mapping[str, Integers]) -> tuple[Integers, Integers]:
    """Return start and end, both 0 where one is NULL: such a row is unusable, as 0/0 is."""
    start, end = columns["start"], columns["end"]
    unusable = (start == NO_TIME) | (end == NO_TIME)
    start[unusable] = end[unusable] = 0
    return start, end


def _times_and_place(columns: Mapping[str, Integers]) -> dict[str, Integers]:
    start, end = usable_times(columns)
    process = columns["globalPid"]
    process &= PROCESS_MASK
    return {
        "start": start,
        "end": end,
        "process": process,
        "device": columns["deviceId"],
        "context": columns["contextId"],
        "stream": columns["streamId"],
        "correlation": columns["correlationId"],
    }


def _kernel_names(database: Database, columns: dict[str, Integers], sources: list[str]) -> Names:
    if not sources:
        return Names(np.zeros(len(columns["start"]), np.int64), (None,))
    names = database.names(columns.pop(sources[0]))
    for column in sources[1:]:
        if not names.is_missing().any():
            break
        names = names.otherwise(database.names(database.integers(KERNEL, {column: _NO_ID})[column]))
    return names
