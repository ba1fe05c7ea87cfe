"""Finds the payload that NCCL attached to the call that launched each communication operation."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.launches import NEVER
from gapfinder.analysis.tracks import NOT_KNOWN

if TYPE_CHECKING:
    import pandas as pd

    from gapfinder.analysis.intervals import Bools, Int64s
    from gapfinder.analysis.lanes import Operations
    from gapfinder.analysis.launches import Launches


_GROUP_START, _GROUP_END = re.compile(r"(?:p?nccl)?GroupStart"), re.compile(r"(?:p?nccl)?GroupEnd")
_RECEIVE = re.compile(r"(?:p?nccl)?Recv")


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class Told:
    """What payloads tell about communication operations; each array has shape (n,), NOT_KNOWN where they do not.

    Attributes:
        communicators: id, the same on all ranks of the communicator.
        sizes: bytes as NCCL's call counts them; of a group, of all its calls that one kernel carries out.
        ranks: how many ranks the communicator has.
        is_grouped: bool; launched when a group of calls ended, as the names of NCCL's ranges tell.
    """

    communicators: Int64s
    sizes: Int64s
    ranks: Int64s
    is_grouped: Bools

    @classmethod
    def nothing(cls, count: int) -> Told:
        """Return that nothing is known about `count` operations."""
        unknown = np.full(count, NOT_KNOWN, np.int64)
        return cls(
            communicators=unknown,
            sizes=unknown.copy(),
            ranks=unknown.copy(),
            is_grouped=np.zeros(count, np.bool_),
        )

    def select(self, keep: Bools) -> Told:
        """Return what is known about the operations where `keep` (shape (n,)) is true."""
        return Told(**{field.name: getattr(self, field.name)[keep] for field in fields(self)})


class Payloads:
    """The payloads of one report, by thread."""

    def __init__(self, payloads: pd.DataFrame, *, ranges: pd.DataFrame) -> None:
        inits = payloads[payloads["ranks"] != NOT_KNOWN]
        self._ranks = dict(zip(inits["communicator"].tolist(), inits["ranks"].tolist(), strict=True))
        calls = payloads[payloads["bytes"] != NOT_KNOWN]
        # Only names tell sends from receives and where groups are; they stand in the same event's row of RANGES.
        ends_group = np.isin(ranges["name"].cat.codes, _codes(ranges, _GROUP_END))
        threads = np.union1d(calls["thread"].unique(), ranges["thread"][ends_group].unique())
        ranges = ranges[np.isin(ranges["thread"], threads)]
        self._threads = {
            thread: _Thread(calls[calls["thread"] == thread], ranges[ranges["thread"] == thread])
            for thread in threads.tolist()
        }

    def of(self, operations: Operations, *, launches: Launches | None) -> Told:
        """Return what is told about operations of one process."""
        told = Told.nothing(len(operations))
        if launches is None or not self._threads or not len(operations):
            return told
        began, threads = launches.starts_of(operations.calls), launches.threads_of(operations.calls)
        for thread in set(np.unique(threads).tolist()) & self._threads.keys():
            mine = np.flatnonzero((threads == thread) & (began != NEVER))
            found = self._threads[thread].at(began[mine])
            told.communicators[mine], told.sizes[mine], told.is_grouped[mine] = found
        distinct, codes = np.unique(told.communicators, return_inverse=True)
        counts = np.array([self._ranks.get(one, NOT_KNOWN) for one in distinct.tolist()], np.int64)
        told.ranks[:] = np.where(told.communicators != NOT_KNOWN, counts[codes], NOT_KNOWN)
        return told


class _Thread:
    """NCCL's calls on one thread: those outside of groups, and groups, which launch when they end."""

    def __init__(self, calls: pd.DataFrame, ranges: pd.DataFrame) -> None:
        calls = calls.sort_values(["start", "end"], kind="stable")
        self._starts, self._ends = calls["start"].to_numpy(), calls["end"].to_numpy()
        self._communicators, self._sizes = calls["communicator"].to_numpy(), calls["bytes"].to_numpy()
        opens, closes = _named(ranges, _GROUP_START), _named(ranges, _GROUP_END)
        begins, self._launches, self._launched = _outermost(opens[0], *closes)
        first, last = (np.searchsorted(self._starts, times) for times in (begins, self._launches))
        # A send and its receive are one transfer as nccl-tests counts it.
        sent = np.where(np.isin(self._starts, _named(ranges, _RECEIVE)[0]), 0, self._sizes)
        total = np.append(0, np.cumsum(sent))
        self._group_sizes = np.where(last > first, total[last] - total[first], NOT_KNOWN)
        communicators = np.append(self._communicators, NOT_KNOWN)
        changes = np.cumsum(np.diff(communicators, prepend=communicators[0]) != 0)
        has_one = (self._group_sizes != NOT_KNOWN) & (changes[first] == changes[np.maximum(last - 1, 0)])
        self._group_communicators = np.where(has_one, communicators[first], NOT_KNOWN)

    def at(self, began: Int64s) -> tuple[Int64s, Int64s, Bools]:
        """Return communicator, size and whether a group was it, of what was launched at these times; one shape."""
        call = np.searchsorted(self._starts, began, side="right") - 1
        is_direct = (call >= 0) & (began < np.append(self._ends, NOT_KNOWN)[call])
        communicators = np.where(is_direct, np.append(self._communicators, NOT_KNOWN)[call], NOT_KNOWN)
        sizes = np.where(is_direct, np.append(self._sizes, NOT_KNOWN)[call], NOT_KNOWN)
        group = np.searchsorted(self._launches, began, side="right") - 1
        grouped = ~is_direct & (group >= 0) & (began < np.append(self._launched, NOT_KNOWN)[group])
        group = group[grouped]
        communicators[grouped] = self._group_communicators[group]
        # Which of a group's calls each of several kernels carries out is not told.
        is_alone = np.bincount(group, minlength=1)[group] == 1
        sizes[grouped] = np.where(is_alone, self._group_sizes[group], NOT_KNOWN)
        return communicators, sizes, grouped


def _named(ranges: pd.DataFrame, pattern: re.Pattern[str]) -> tuple[Int64s, Int64s]:
    """Return starts and ends of the ranges whose whole text matches, in order of start."""
    found = ranges[np.isin(ranges["name"].cat.codes, _codes(ranges, pattern))].sort_values("start", kind="stable")
    return found["start"].to_numpy(), found["end"].to_numpy()


def _codes(ranges: pd.DataFrame, pattern: re.Pattern[str]) -> list[int]:
    """Return the codes of the names that match as a whole."""
    return [code for code, text in enumerate(ranges["name"].cat.categories) if pattern.fullmatch(text)]


def _outermost(opens: Int64s, closes: Int64s, closed: Int64s) -> tuple[Int64s, Int64s, Int64s]:
    """Return when groups begin, and start and end of the call that ends each; groups inside others are left out."""
    times = np.concatenate([opens, closes])
    order = np.argsort(times, kind="stable")
    steps = np.repeat(np.array([1, -1]), [len(opens), len(closes)])[order]
    depth = np.cumsum(steps)
    depth -= np.minimum.accumulate(np.minimum(depth, 0))  # an end whose start was not captured opens nothing
    begins, ends = times[order][(steps > 0) & (depth == 1)], times[order][(steps < 0) & (depth == 0)]
    begins = begins[begins < ends.max(initial=NOT_KNOWN)]
    ends = ends[np.searchsorted(ends, begins)]
    return begins, ends, closed[np.searchsorted(closes, ends)]
