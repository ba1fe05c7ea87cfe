"""All communication operations one below the other: which collective each belongs to, its bytes, and its speed."""

from __future__ import annotations

from dataclasses import dataclass, fields
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gapfinder.analysis.hints import OPERATIONS
from gapfinder.analysis.tracks import NOT_KNOWN
from gapfinder.cost import bus_factor
from gapfinder.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gapfinder.analysis.communication import KeptCommunication
    from gapfinder.analysis.intervals import Bools, Int64s
    from gapfinder.analysis.matching import CommunicationTimes
    from gapfinder.links import Link

    Floats = NDArray[np.float64]

# NCCL's calls count what one rank contributes or gets; nccl-tests counts the whole array.
_SIZED_BY_PART = frozenset({"AllGather", "ReduceScatter", "AllToAll", "Gather", "Scatter"})
_PRICED = frozenset({"AllReduce", "AllGather", "ReduceScatter", "AllToAll", "SendRecv", "Broadcast", "Reduce"})


@dataclass(frozen=True, slots=True)
class Kind:
    """One operation on one communicator, or on the streams that carried it."""

    operation: str
    communicator: str


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class CollectiveRows:
    """The operations of all lanes, lane after lane; each array has shape (n,).

    Attributes:
        lanes: place of the lane.
        starts, ends: ns, not cut at the window's edges.
        streams: CUDA stream number.
        keys: which of the kinds each is of.
        instances: number of its collective; unmatched operations have numbers of their own.
        is_matched: whether it was found on other lanes.
        is_here: whether all its ranks are among the lanes, as far as is told.
        is_grouped: whether it was launched by the end of a group of calls.
        steps: number of the complete step it began in, NOT_KNOWN for none.
        transfers: ns, NOT_KNOWN without a match.
        late_lanes: the lane that came last, NOT_KNOWN without one.
        sizes: bytes as nccl-tests counts them, NOT_KNOWN where no payload tells.
        ranks: how many take part.
        algorithm, bus: bandwidths, bytes per second; NaN where not known.
        ideals: ns by the cost model, NOT_KNOWN where there is none.
    """

    lanes: Int64s
    starts: Int64s
    ends: Int64s
    streams: Int64s
    keys: Int64s
    instances: Int64s
    is_matched: Bools
    is_here: Bools
    is_grouped: Bools
    steps: Int64s
    transfers: Int64s
    late_lanes: Int64s
    sizes: Int64s
    ranks: Int64s
    algorithm: Floats
    bus: Floats
    ideals: Int64s

    def __len__(self) -> int:
        return len(self.lanes)

    def select(self, keep: Bools | Int64s) -> CollectiveRows:
        """Return the operations where `keep` (shape (n,)) is true, or those at its places."""
        return CollectiveRows(**{field.name: getattr(self, field.name)[keep] for field in fields(self)})

    def by_kind(self, count: int) -> Iterator[CollectiveRows]:
        """Yield the operations of each kind, 0 to `count` - 1."""
        order = np.argsort(self.keys, kind="stable")
        edges = np.searchsorted(self.keys[order], np.arange(count + 1)).tolist()
        yield from (self.select(order[first:last]) for first, last in pairwise(edges))

    @property
    def moving(self) -> Int64s:
        """How long each moved data: its transfer, without a split its length; shape (n,), ns."""
        return np.where(self.transfers > 0, self.transfers, self.ends - self.starts)


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What the operations of all lanes are read beside.

    Attributes:
        files: report of each lane, by name.
        link: between the lanes.
        is_whole: whether no mark tells of ranks that no lane is of.
    """

    files: Sequence[str]
    link: Link
    is_whole: bool


def collective_rows(
    kept: Sequence[KeptCommunication], times: Sequence[CommunicationTimes], *, job: Job
) -> tuple[CollectiveRows, list[Kind]]:
    """Return all operations, and the kinds that `keys` counts.

    Args:
        kept: communication of each lane; at least one has some.
        times: what `match_lanes` found for each.
        job: where they come from.
    """
    counts = [len(lane) for lane in kept]
    instances = np.concatenate([one.instances for one in times])
    matched = instances != NOT_KNOWN
    numbered = instances.copy()
    numbered[~matched] = int(instances.max()) + 1 + np.arange(int((~matched).sum()))
    starts, ends = (np.concatenate([getattr(lane, name) for lane in kept]) for name in ("starts", "ends"))
    operations = np.concatenate([lane.operations for lane in kept])
    transfers = np.where(matched, ends - np.concatenate([one.transfer_starts for one in times]), NOT_KNOWN)
    told = np.concatenate([lane.told.ranks for lane in kept])
    seen = np.bincount(numbered)[numbered]
    ranks = np.where(told != NOT_KNOWN, told, seen)
    sizes = np.concatenate([lane.told.sizes for lane in kept])
    by_part = np.array([name in _SIZED_BY_PART for name in OPERATIONS], np.bool_)[operations]
    sizes = np.where((sizes != NOT_KNOWN) & by_part, sizes * ranks, sizes)
    is_here = (ranks == seen) & ((told != NOT_KNOWN) | job.is_whole)
    moving = np.where(transfers > 0, transfers, ends - starts)
    priced = _prices(operations, sizes, ranks, moving=moving, bandwidths=_bandwidths(job.link, is_here))
    keys, kinds = _kinds(kept, operations, numbered, files=job.files)
    return CollectiveRows(
        lanes=np.repeat(np.arange(len(kept)), counts),
        starts=starts,
        ends=ends,
        streams=np.concatenate([lane.streams for lane in kept]),
        keys=keys,
        instances=numbered,
        is_matched=matched,
        is_here=is_here,
        is_grouped=np.concatenate([lane.told.is_grouped for lane in kept]),
        steps=np.concatenate([lane.steps_of() for lane in kept]),
        transfers=transfers,
        late_lanes=np.concatenate([one.late_lanes for one in times]),
        sizes=sizes,
        ranks=ranks,
        algorithm=priced[0],
        bus=priced[1],
        ideals=priced[2],
    ), kinds


def _bandwidths(link: Link, is_here: Bools) -> Floats:
    """Return each operation's link; one that was detected says nothing of ranks that may be on another host."""
    bandwidths = np.full(len(is_here), np.nan if link.bandwidth is None else link.bandwidth)
    return np.where(is_here, bandwidths, np.nan) if link.is_detected else bandwidths


def _prices(
    operations: Int64s, sizes: Int64s, ranks: Int64s, *, moving: Int64s, bandwidths: Floats
) -> tuple[Floats, Floats, Int64s]:
    """Return algorithm bandwidth, bus bandwidth and ideal time of each operation."""
    known = (sizes != NOT_KNOWN) & (ranks > 1) & (moving > 0)
    algorithm = np.full(len(sizes), np.nan)
    algorithm[known] = sizes[known] / moving[known] * NS_PER_S
    factors = np.full(len(sizes), np.nan)
    codes, kinds = pd.factorize(ranks[known] * len(OPERATIONS) + operations[known])
    priced = [
        bus_factor(OPERATIONS[operation], count) if OPERATIONS[operation] in _PRICED else np.nan
        for count, operation in (divmod(kind, len(OPERATIONS)) for kind in kinds.tolist())
    ]
    factors[known] = np.array(priced, np.float64)[codes]
    ideals = np.rint(factors * sizes * NS_PER_S / bandwidths)
    has_ideal = ~np.isnan(ideals)
    return algorithm, algorithm * factors, np.where(has_ideal, np.nan_to_num(ideals), NOT_KNOWN).astype(np.int64)


def _kinds(
    kept: Sequence[KeptCommunication], operations: Int64s, instances: Int64s, *, files: Sequence[str]
) -> tuple[Int64s, list[Kind]]:
    """Return the kind of each operation: by communicator where it is known, else by the streams that met.

    Streams of one number are told apart by report, unless their operations are the same collectives.
    """
    counts = [len(lane) for lane in kept]
    communicators = np.concatenate([lane.told.communicators for lane in kept])
    streams = np.concatenate([lane.streams for lane in kept])
    has_communicator = communicators != NOT_KNOWN
    reports = np.repeat(pd.factorize(np.array(files, object))[0], counts)
    carriers = np.where(has_communicator, communicators, streams)
    places = np.where(has_communicator, 0, reports + 1)
    codes, firsts = _codes(carriers, places * len(OPERATIONS) + operations)
    roots = _connected(codes, instances, len(firsts))
    names, keys = np.unique(roots, return_inverse=True)
    labels, of_reports = [], []
    for root in names.tolist():
        members = firsts[roots == root]
        own = sorted(set(carriers[members].tolist()))
        is_told = bool(has_communicator[members[0]])
        labels.append(f"{own[0] % 2**64:#x}" if is_told else "stream " + ", ".join(map(str, own)))
        of_reports.append(set() if is_told else set(reports[members].tolist()))
    operation_of = [OPERATIONS[int(operations[firsts[root]])] for root in names.tolist()]
    distinct = list(dict.fromkeys(files))
    return keys[codes], [
        Kind(operation, _told_apart(label, own, labels=labels, of_reports=of_reports, files=distinct))
        for operation, label, own in zip(operation_of, labels, of_reports, strict=True)
    ]


def _codes(*columns: Int64s) -> tuple[Int64s, Int64s]:
    """Return for each row a number that rows with equal columns share, and the first row of each number."""
    code = np.zeros(len(columns[0]), np.int64)
    for column in columns:
        own, distinct = pd.factorize(column)
        code = code * len(distinct) + own  # fewer than 2**63, for two columns of fewer than 2**31 rows
    code = pd.factorize(code)[0]
    return code, np.flatnonzero(np.diff(np.maximum.accumulate(code), prepend=-1))  # they count up as they appear


def _told_apart(
    label: str, own: set[int], *, labels: Sequence[str], of_reports: Sequence[set[int]], files: Sequence[str]
) -> str:
    """Return a label, with its reports where the same streams of others carried something else."""
    same = [reports for other, reports in zip(labels, of_reports, strict=True) if other == label]
    if all(reports == own for reports in same):
        return label
    return f"{label} of {', '.join(files[report] for report in sorted(own))}"


def _connected(codes: Int64s, instances: Int64s, count: int) -> Int64s:
    """Return for each code the lowest one that shares collectives with it, directly or through others."""
    roots = np.arange(count)
    any_code = np.empty(int(instances.max()) + 1, np.int64)
    any_code[instances] = codes
    pairs = pd.unique(any_code[instances] * count + codes)
    for one, other in zip(*(side.tolist() for side in np.divmod(pairs, count)), strict=True):
        low, high = sorted((int(roots[one]), int(roots[other])))
        roots[roots == high] = low
    return roots
