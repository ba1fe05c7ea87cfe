"""Splits a report's GPU operations into lanes: one GPU as one process uses it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gapfinder.analysis.intervals import union
from gapfinder.analysis.launches import rows_by_code
from gapfinder.budget import ALWAYS, Window

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.analysis.intervals import Bools, Int64s, Intervals
    from gapfinder.analysis.launches import Launches
    from gapfinder.analysis.report import Report


_NO_NAME = -1


@dataclass(frozen=True, slots=True, eq=False)
class Operations:
    """Usable GPU operations in any order; those of zero length are among them.

    Attributes:
        starts: shape (n,), ns.
        ends: shape (n,), ns; never before the start.
        calls: shape (n,); row of the launch call among its process's `Launches`, -1 where it was not captured.
        names: shape (n,); index into the report's kernel names, -1 for copies and graphs.
    """

    starts: Int64s
    ends: Int64s
    calls: Int64s
    names: Int64s

    def __len__(self) -> int:
        return len(self.starts)

    def select(self, keep: Bools) -> Operations:
        """Return the operations where `keep` (shape (n,)) is true."""
        return Operations(self.starts[keep], self.ends[keep], self.calls[keep], self.names[keep])

    def only_kernels(self) -> Operations:
        """Return the operations that are kernels."""
        return self.select(self.names != _NO_NAME)

    def covered(self) -> Intervals:
        """Return when at least one of them runs."""
        return union(self.starts, self.ends)

    def begin_in(self, stretch: Window) -> Bools:
        """Return which begin in a stretch of time; shape (n,)."""
        if stretch == ALWAYS:
            return np.ones(len(self), np.bool_)
        begin: Bools = (self.starts >= stretch.start_ns) & (self.starts < stretch.end_ns)
        return begin

    def are_in(self, window: Window, *, begun_in: Window = ALWAYS) -> Bools:
        """Return which have a part, or without length an instant, in `window` and begin in a stretch; shape (n,)."""
        instants = (self.ends == self.starts) & (self.starts >= window.start_ns)
        inside: Bools = (self.starts < window.end_ns) & ((self.ends > window.start_ns) | instants)
        return inside if begun_in == ALWAYS else inside & self.begin_in(begun_in)

    def count_in(self, window: Window, *, begun_in: Window = ALWAYS) -> int:
        """Return how many are in `window` and begin in a stretch of time."""
        return int(self.are_in(window, begun_in=begun_in).sum())


@dataclass(frozen=True, slots=True, eq=False)
class LaneOperations:
    """What one lane ran, by kind.

    Attributes:
        process: process key.
        device: CUDA device number as that process counts.
        communication_contexts, communication_streams: shape (communication,); where each of them ran.
        copies: copies and memsets that do not count as communication.
        copy_rows: shape (copies,); row of each of them in the frame COPIES.
        peer_copies: those of `copies` that go from one GPU to another.
        dropped: rows left out: 0/0, or an end before the start.
        is_single_stream: communication and compute kernels were all on one stream.
    """

    process: int
    device: int
    compute: Operations
    communication: Operations
    communication_contexts: Int64s
    communication_streams: Int64s
    copies: Operations
    copy_rows: Int64s
    peer_copies: Operations
    graphs: Operations
    dropped: int
    is_single_stream: bool

    @property
    def by_kind(self) -> tuple[Operations, ...]:
        """All operations, each once."""
        return (self.compute, self.communication, self.copies, self.graphs)

    def span(self) -> Window | None:
        """Return first start to last end of what takes time; None when nothing does."""
        timed = [ops.select(ops.ends > ops.starts) for ops in self.by_kind]
        timed = [ops for ops in timed if len(ops)]
        if not timed:
            return None
        return Window(
            start_ns=min(int(ops.starts.min()) for ops in timed), end_ns=max(int(ops.ends.max()) for ops in timed)
        )


class _Grouped:
    """One frame's rows grouped by (process, device), with the columns as plain arrays."""

    def __init__(self, frame: pd.DataFrame) -> None:
        self._columns = {name: frame[name].to_numpy() for name in frame.columns if name != "name"}
        self._names = frame["name"].cat.codes.to_numpy() if "name" in frame.columns else None
        process_codes, processes = pd.factorize(self._columns["process"])
        device_codes, devices = pd.factorize(self._columns["device"])
        codes, pairs = pd.factorize(process_codes * len(devices) + device_codes)
        keys = [(int(processes[pair // len(devices)]), int(devices[pair % len(devices)])) for pair in pairs]
        self.rows = dict(zip(keys, rows_by_code(codes, len(keys)), strict=True))

    def column(self, name: str, key: tuple[int, int]) -> Int64s:
        """Return one lane's values of a column."""
        rows = self.rows.get(key)
        if rows is None:
            return np.empty(0, np.int64)
        return self._columns[name][rows]

    def operations(self, key: tuple[int, int], *, launches: Launches | None) -> tuple[Operations, Bools]:
        """Return one lane's usable rows, and which of its rows those are."""
        starts, ends = self.column("start", key), self.column("end", key)
        usable = are_usable(starts, ends)
        if self._names is None or key not in self.rows:
            names = np.full(len(starts), _NO_NAME, np.int64)
        else:
            names = self._names[self.rows[key]].astype(np.int64)
        numbers = self.column("correlation", key)
        calls = np.full(len(numbers), -1, np.int64) if launches is None else launches.rows_of(numbers)
        operations = Operations(starts, ends, calls, names)
        return (operations if usable.all() else operations.select(usable)), usable


def are_usable(starts: Int64s, ends: Int64s) -> Bools:
    """Say which rows can be used: those that are not 0/0 and do not end before they start; shape (n,)."""
    usable: Bools = (ends >= starts) & ~((starts == 0) & (ends == 0))
    return usable


def split_lanes(report: Report) -> Iterator[LaneOperations]:
    """Yield every lane of a report, in order of process and device."""
    profile = report.profile
    kernels, graphs = _Grouped(profile.kernels), _Grouped(profile.graphs)
    copies = _Grouped(profile.copies.assign(counts=report.communication_copies, peer=report.peer_copies))
    for key in sorted({*kernels.rows, *copies.rows, *graphs.rows}):
        launches = report.launches.get(key[0])
        kernel_ops, usable_kernels = kernels.operations(key, launches=launches)
        copy_ops, usable_copies = copies.operations(key, launches=launches)
        graph_ops, usable_graphs = graphs.operations(key, launches=launches)
        communicates = report.is_communication[kernel_ops.names]
        counts = copies.column("counts", key)[usable_copies].astype(np.bool_)
        peer = copies.column("peer", key)[usable_copies].astype(np.bool_) & ~counts
        contexts, streams = (kernels.column(name, key)[usable_kernels] for name in ("context", "stream"))
        copy_contexts, copy_streams = (
            copies.column(name, key)[usable_copies][counts] for name in ("context", "stream")
        )
        yield LaneOperations(
            process=key[0],
            device=key[1],
            compute=kernel_ops.select(~communicates),
            communication=_join(kernel_ops.select(communicates), copy_ops.select(counts)),
            communication_contexts=np.concatenate([contexts[communicates], copy_contexts]),
            communication_streams=np.concatenate([streams[communicates], copy_streams]),
            copies=copy_ops.select(~counts),
            copy_rows=copies.rows.get(key, np.empty(0, np.int64))[usable_copies][~counts],
            peer_copies=copy_ops.select(peer),
            graphs=graph_ops,
            dropped=sum(int((~usable).sum()) for usable in (usable_kernels, usable_copies, usable_graphs)),
            is_single_stream=_is_single_stream((streams, contexts), communicates),
        )


def _join(one: Operations, other: Operations) -> Operations:
    """Return the operations of both."""
    if len(other) == 0:
        return one
    return Operations(
        np.concatenate([one.starts, other.starts]),
        np.concatenate([one.ends, other.ends]),
        np.concatenate([one.calls, other.calls]),
        np.concatenate([one.names, other.names]),
    )


def _is_single_stream(streams: tuple[Int64s, Int64s], communicates: Bools) -> bool:
    """Say whether there are kernels of both kinds and all ran on one (stream, context)."""
    if not communicates.any() or communicates.all():
        return False
    return all(bool((ids == ids[0]).all()) for ids in streams)
