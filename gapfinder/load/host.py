"""Reads what held up a program's threads: calls into the operating system, and time that profiler and driver took."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gapfinder.load.operations import read_timed
from gapfinder.load.schema import CUPTI_OVERHEAD, OS_CALLS, PROFILER_OVERHEAD
from gapfinder.tables import OS_CALLS as OS_CALLS_FRAME
from gapfinder.tables import OVERHEADS

if TYPE_CHECKING:
    import pandas as pd

    from gapfinder.load.database import Database
    from gapfinder.tables import Table


def read_os_calls(database: Database) -> pd.DataFrame:
    """Return the frame OS_CALLS."""
    return _events(database, (OS_CALLS,), frame=OS_CALLS_FRAME)


def read_overheads(database: Database) -> pd.DataFrame:
    """Return the frame OVERHEADS."""
    return _events(database, (PROFILER_OVERHEAD, CUPTI_OVERHEAD), frame=OVERHEADS)


def _events(database: Database, tables: tuple[str, ...], *, frame: Table) -> pd.DataFrame:
    """Return named host events of several tables as one frame."""
    parts = [read_timed(database, table, {"globalTid": 0, "nameId": -1}) for table in tables]
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    names = database.names(columns["nameId"]).categorical()
    return frame.frame(
        {"start": columns["start"], "end": columns["end"], "thread": columns["globalTid"], "name": names}
    )
