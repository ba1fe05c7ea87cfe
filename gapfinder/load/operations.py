"""Reads the GPU's operations and the CUDA API calls that launched them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gapfinder.load.names import Names
from gapfinder.load.places import UNTOLD_DEVICE, UNTOLD_PROCESS
from gapfinder.load.schema import GRAPH_TRACE, KERNEL, MEMCPY, MEMSET, RUNTIME
from gapfinder.load.times import check_times
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
_PLACE = {"globalPid": UNTOLD_PROCESS, "deviceId": UNTOLD_DEVICE, "contextId": -1, "streamId": -1, "correlationId": -1}
_KERNEL_NAMES = ("demangledName", "shortName", "mangledName")
_NO_ID = -1


def read_kernels(database: Database) -> pd.DataFrame:
    """Return the frame KERNELS."""
    sources = [column for column in _KERNEL_NAMES if database.has_column(KERNEL, column)]
    columns = read_timed(database, KERNEL, _PLACE | dict.fromkeys(sources[:1], _NO_ID))
    return KERNELS.frame({**_place(columns), "name": _kernel_names(database, columns, sources).categorical()})


def read_copies(database: Database) -> pd.DataFrame:
    """Return the frame COPIES."""
    ends = dict.fromkeys(("copyKind", "bytes", "srcDeviceId", "dstDeviceId", "srcKind", "dstKind"), -1)
    memcpy = read_timed(database, MEMCPY, _PLACE | ends)
    memset = read_timed(database, MEMSET, _PLACE | {"bytes": -1, "memKind": -1})
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
            **_place(both),
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
    columns = read_timed(database, GRAPH_TRACE, _PLACE | {"graphId": -1})
    return GRAPHS.frame({**_place(columns), "graph": columns["graphId"]})


def read_calls(database: Database) -> pd.DataFrame:
    """Return the frame CALLS."""
    columns = read_timed(database, RUNTIME, {"globalTid": 0, "correlationId": -1, "nameId": _NO_ID})
    return CALLS.frame(
        {
            "start": columns["start"],
            "end": columns["end"],
            "thread": columns["globalTid"],
            "correlation": columns["correlationId"],
            "name": database.names(columns.pop("nameId")).categorical(),
        }
    )


def read_timed(database: Database, table: str, others: Mapping[str, int]) -> dict[str, Integers]:
    """Return start, end and other columns; both times are 0 where one is NULL: such a row is unusable, as 0/0 is."""
    columns = database.integers(table, {**_TIMES, **others}, required=tuple(_TIMES))
    start, end = columns["start"], columns["end"]
    unusable = (start == NO_TIME) | (end == NO_TIME)
    start[unusable] = end[unusable] = 0
    check_times(start, end, table=table, name=database.name)
    return columns


def _place(columns: Mapping[str, Integers]) -> dict[str, Integers]:
    process = columns["globalPid"]
    process &= PROCESS_MASK
    return {
        "start": columns["start"],
        "end": columns["end"],
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
