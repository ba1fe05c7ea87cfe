"""A table of events in runs of pages: read one run after the other, and only those that can hold what is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gapfinder.load.times import LongestSum

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from gapfinder.load.btree import Bools, Integers
    from gapfinder.load.database import Database

    Read = Callable[[Database], pd.DataFrame]

ROWS_PER_SAMPLE = 64
"""Of so many rows the start of one is remembered."""

_RUN_BYTES = 1 << 24
_LIMITS = np.iinfo(np.int64)


@dataclass(eq=False)
class Runs:
    """Where a table's rows are in time. Rows are expected nearly in order, but only the time it takes depends on that.

    Each array has shape (runs,).

    Attributes:
        table: its name in the export.
        read: reads the table's frame, with times, `correlation` and `name`.
        leaves: pages of each run.
        firsts: number of each run's first row.
        starts, ends: the earliest start and the latest end of its usable rows, ns.
        lowest, highest: correlation numbers.
        sampled: when one row in ROWS_PER_SAMPLE begins, whatever the order of rows; ns.
        names: every name that occurs; empty until `scan` is through.
    """

    table: str
    read: Read
    leaves: list[Integers]
    firsts: list[int] = field(default_factory=lambda: [0])
    sampled: list[Integers] = field(default_factory=list)
    starts: Integers = field(init=False)
    ends: Integers = field(init=False)
    lowest: Integers = field(init=False)
    highest: Integers = field(init=False)
    names: pd.CategoricalDtype = field(default_factory=pd.CategoricalDtype)

    def __post_init__(self) -> None:
        self.starts, self.lowest = (np.full(len(self), _LIMITS.max, np.int64) for _ in range(2))
        self.ends, self.highest = (np.full(len(self), _LIMITS.min, np.int64) for _ in range(2))

    @classmethod
    def of(cls, database: Database, table: str, *, read: Read) -> Runs:
        """Find the table's pages; UnsupportedError where they cannot be told."""
        leaves = database.leaves(table)
        count = -(-len(leaves) // max(1, _RUN_BYTES // database.page_size))
        return cls(table, read, np.array_split(leaves, count) if count else [])

    def __len__(self) -> int:
        return len(self.leaves)

    @property
    def rows(self) -> int:
        """How many rows the table has."""
        return self.firsts[-1]

    def scan(self, database: Database) -> Iterator[tuple[int, pd.DataFrame]]:
        """Yield the number and the frame of every run, the index its rows' numbers, and learn where everything is.

        Names of these frames are categories of their own run.
        """
        total = LongestSum(table=self.table, name=database.name)
        names: set[str] = set()
        for number in range(len(self)):
            frame = self.read(database.on_pages(self.table, self.leaves[number]))
            first = self.firsts[-1]
            frame.index = pd.RangeIndex(first, first + len(frame))
            self.firsts.append(first + len(frame))
            starts, ends = frame["start"].to_numpy(), frame["end"].to_numpy()
            total.add(starts, ends)
            self.sampled.append(starts[-first % ROWS_PER_SAMPLE :: ROWS_PER_SAMPLE].copy())
            numbers = frame["correlation"].to_numpy()
            self.starts[number] = starts.min(initial=_LIMITS.max)
            self.ends[number] = np.maximum(starts, ends).max(initial=_LIMITS.min)
            self.lowest[number], self.highest[number] = (
                numbers.min(initial=_LIMITS.max, where=numbers >= 0),
                numbers.max(initial=_LIMITS.min),
            )
            names.update(frame["name"].cat.categories)
            database.check_names(len(names))
            yield number, frame
        self.names = pd.CategoricalDtype(pd.Index(sorted(names), dtype=object))

    def frames(self, database: Database, which: Bools) -> Iterator[pd.DataFrame]:
        """Yield the frames of some runs, the index their rows' numbers and all names their categories."""
        for number in np.flatnonzero(which).tolist():
            frame = self.read(database.on_pages(self.table, self.leaves[number]))
            frame.index = pd.RangeIndex(self.firsts[number], self.firsts[number + 1])
            yield self.named(frame)

    def named(self, frame: pd.DataFrame) -> pd.DataFrame:
        """Return a run's frame with all names as its categories."""
        places = self.names.categories.get_indexer(frame["name"].cat.categories)
        kind = np.min_scalar_type(-max(len(places), len(self.names.categories)) - 1)
        codes = np.append(places, -1).astype(kind)[frame["name"].cat.codes.to_numpy()]
        return frame.assign(name=pd.Categorical.from_codes(codes, dtype=self.names, validate=False))

    def joined(self, frames: list[pd.DataFrame], *, empty: pd.DataFrame) -> pd.DataFrame:
        """Return rows of several runs, each once and in the table's order; `empty` is what no row would be."""
        if not frames:
            return empty.assign(name=pd.Categorical([], dtype=self.names))
        rows = pd.concat(frames)
        rows = rows[~rows.index.duplicated()]
        rows.index = pd.Index(rows.index.to_numpy())  # no range of numbers, even where none is left out
        return rows if rows.index.is_monotonic_increasing else rows.sort_index(kind="stable")
