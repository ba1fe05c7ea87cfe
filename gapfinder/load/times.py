"""Refuses times that int64 could not subtract or add up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from gapfinder.errors import InputError

if TYPE_CHECKING:
    from gapfinder.load.btree import Integers

_FURTHEST = 1 << 61
"""Largest time either side of zero: 73 years in ns, so that clocks that count from 1970 fit."""

_LONGEST_SUM = 1 << 62
_AGAIN = "export the report again"


def check_times(start: Integers, end: Integers, *, table: str, name: str) -> None:
    """Raise InputError when a time lies too far off, or when the rows with end >= start take too long together."""
    if not len(start):
        return
    earliest, latest = min(int(start.min()), int(end.min())), max(int(start.max()), int(end.max()))
    furthest = max(earliest, latest, key=abs)
    if abs(furthest) > _FURTHEST:
        raise InputError(
            f"{name}: {table} has a time of {furthest:,} ns, more than {_FURTHEST:,} from the clock's zero; {_AGAIN}"
        )
    if (latest - earliest) * len(start) <= _LONGEST_SUM:
        return
    LongestSum(table=table, name=name).add(start, end)


class LongestSum:
    """Adds up the durations of a table that comes in parts."""

    def __init__(self, *, table: str, name: str) -> None:
        self._table, self._name, self._total = table, name, 0.0

    def add(self, start: Integers, end: Integers) -> None:
        """Add rows; InputError when those with end >= start take too long together."""
        usable = end >= start
        self._total += end.sum(dtype=np.float64, where=usable) - start.sum(dtype=np.float64, where=usable)
        if self._total > _LONGEST_SUM:
            raise InputError(
                f"{self._name}: {self._table} has durations of {self._total:,.0f} ns in all, "
                f"more than {_LONGEST_SUM:,}; {_AGAIN}"
            )
