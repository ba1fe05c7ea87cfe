"""The bill of each collective: how often, how long, how much of it hidden, who waited, and how fast the link was."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gapfinder.analysis.hints import OPERATIONS, UNKNOWN
from gapfinder.analysis.tracks import NOT_KNOWN
from gapfinder.cost import bus_factor, ideal_ns
from gapfinder.explanations import CollectiveSummary

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from gapfinder.analysis.communication import KeptCommunication
    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.matching import CommunicationTimes

    Bools = NDArray[np.bool_]

_NS_PER_S = 1_000_000_000
# NCCL's calls count what one rank contributes or gets; nccl-tests counts the whole array.
_SIZED_BY_PART = frozenset({"AllGather", "ReduceScatter", "AllToAll", "Gather", "Scatter"})
_PRICED = frozenset({"AllReduce", "AllGather", "ReduceScatter", "AllToAll", "SendRecv", "Broadcast", "Reduce"})


@dataclass(frozen=True, kw_only=True, slots=True, eq=False)
class _Rows:
    """The operations of all lanes one below the other; each array has shape (n,).

    Attributes:
        keys: which summary each belongs to.
        instances: number of its collective; unmatched operations have numbers of their own.
        is_matched: whether it was found on other lanes.
        is_in_step: whether it started in a complete step.
        transfers: ns, NOT_KNOWN without a match.
        sizes: bytes as nccl-tests counts them, NOT_KNOWN where no payload tells.
        ranks: how many take part.
    """

    lanes: Int64s
    starts: Int64s
    ends: Int64s
    keys: Int64s
    instances: Int64s
    is_matched: Bools
    is_in_step: Bools
    transfers: Int64s
    late_lanes: Int64s
    sizes: Int64s
    ranks: Int64s


@dataclass(frozen=True, slots=True)
class _Kind:
    """One operation on one communicator, or on the streams that carried it."""

    operation: str
    communicator: str


def summarise_collectives(
    kept: Sequence[KeptCommunication], times: Sequence[CommunicationTimes], *, link_bandwidth: float | None
) -> tuple[CollectiveSummary, ...]:
    """Return one row per operation and communicator, the one with most exposed time first.

    Args:
        kept: communication of each lane.
        times: what `match_lanes` found for each.
        link_bandwidth: of each lane's link in one direction, bytes per second; None where nobody told.
    """
    if not any(len(lane) for lane in kept):
        return ()
    rows, kinds = _rows(kept, times)
    found = [
        _summary(kind, _select(rows, rows.keys == key), kept=kept, link_bandwidth=link_bandwidth)
        for key, kind in enumerate(kinds)
    ]
    return tuple(sorted(found, key=lambda one: (-one.exposed_ns, -one.total_ns, one.operation, one.communicator)))


def _rows(kept: Sequence[KeptCommunication], times: Sequence[CommunicationTimes]) -> tuple[_Rows, list[_Kind]]:
    lanes = np.repeat(np.arange(len(kept)), [len(lane) for lane in kept])
    instances = np.concatenate([one.instances for one in times])
    matched = instances != NOT_KNOWN
    numbered = instances.copy()
    numbered[~matched] = int(instances.max()) + 1 + np.arange(int((~matched).sum()))
    ends = np.concatenate([lane.ends for lane in kept])
    transfer_starts = np.concatenate([one.transfer_starts for one in times])
    operations = np.concatenate([lane.operations for lane in kept])
    ranks = _ranks(np.concatenate([lane.told.ranks for lane in kept]), numbered)
    keys, kinds = _kinds(kept, operations, numbered)
    by_part = np.isin(operations, [OPERATIONS.index(name) for name in _SIZED_BY_PART])
    sizes = np.concatenate([lane.told.sizes for lane in kept])
    return _Rows(
        lanes=lanes,
        starts=np.concatenate([lane.starts for lane in kept]),
        ends=ends,
        keys=keys,
        instances=numbered,
        is_matched=matched,
        is_in_step=np.concatenate([lane.in_steps() for lane in kept]) >= 0,
        transfers=np.where(matched, ends - transfer_starts, NOT_KNOWN),
        late_lanes=np.concatenate([one.late_lanes for one in times]),
        sizes=np.where((sizes != NOT_KNOWN) & by_part, sizes * ranks, sizes),
        ranks=ranks,
    ), kinds


def _ranks(told: Int64s, instances: Int64s) -> Int64s:
    """Return how many ranks take part in each operation: as the payload tells, else as many as were matched."""
    return np.where(told != NOT_KNOWN, told, np.bincount(instances)[instances])


def _kinds(kept: Sequence[KeptCommunication], operations: Int64s, instances: Int64s) -> tuple[Int64s, list[_Kind]]:
    """Return the summary of each operation: by communicator where it is known, else by the streams that met."""
    communicators = np.concatenate([lane.told.communicators for lane in kept])
    streams = np.concatenate([lane.streams for lane in kept])
    has_communicator = communicators != NOT_KNOWN
    carriers = np.where(has_communicator, communicators, streams)
    places, distinct = pd.factorize(carriers)
    # One number for each operation and carrier, in use or not, then one for each that is.
    codes, numbers = pd.factorize((places * len(OPERATIONS) + operations) * 2 + has_communicator)
    pairs, is_told = np.divmod(numbers, 2)
    operation_of, carrier_of = pairs % len(OPERATIONS), distinct[pairs // len(OPERATIONS)]
    roots = _connected(codes, instances, len(numbers))
    names, keys = np.unique(roots, return_inverse=True)
    kinds = []
    for root in names.tolist():
        members = carrier_of[roots == root].tolist()
        label = f"{members[0] % 2**64:#x}" if is_told[root] else "stream " + ", ".join(map(str, sorted(set(members))))
        kinds.append(_Kind(OPERATIONS[int(operation_of[root])], label))
    return keys[codes], kinds


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


def _select(rows: _Rows, keep: Bools) -> _Rows:
    return _Rows(**{name: getattr(rows, name)[keep] for name in _Rows.__dataclass_fields__})


def _summary(
    kind: _Kind, rows: _Rows, *, kept: Sequence[KeptCommunication], link_bandwidth: float | None
) -> CollectiveSummary:
    lanes = np.flatnonzero(np.bincount(rows.lanes)).tolist()
    hidden, exposed = 0, 0
    for lane in lanes:
        own = rows.lanes == lane
        part = kept[lane].hidden_and_exposed(rows.starts[own], rows.ends[own])
        hidden, exposed = hidden + part[0], exposed + part[1]
    lengths = rows.ends - rows.starts
    transfer = int(rows.transfers[rows.is_matched].sum())
    is_split = bool(rows.is_matched.any())
    late_lane, late_share = _late(rows)
    speed = _speed(kind.operation, rows, link_bandwidth=link_bandwidth)
    return CollectiveSummary(
        operation=kind.operation,
        communicator=kind.communicator,
        instances=len(pd.unique(rows.instances)),
        unmatched=int((~rows.is_matched).sum()) if len(lanes) > 1 else 0,
        lanes=tuple(lanes),
        per_step=_per_step(rows, [kept[lane] for lane in lanes]),
        bytes_total=speed.bytes_total,
        total_ns=int(lengths.sum()),
        hidden_ns=hidden,
        exposed_ns=exposed,
        wait_ns=int(lengths[rows.is_matched].sum()) - transfer if is_split else None,
        transfer_ns=transfer if is_split else None,
        algorithm_bandwidth=speed.algorithm_bandwidth,
        bus_bandwidth=speed.bus_bandwidth,
        ideal_ns=speed.ideal_ns,
        late_lane=late_lane,
        late_share=late_share,
        skew_ns=_skew(rows) if is_split else None,
    )


def _skew(rows: _Rows) -> int:
    """Return the longest wait of an instance, as a median over instances."""
    instance, distinct = pd.factorize(rows.instances[rows.is_matched])
    longest = np.zeros(len(distinct), np.int64)
    np.maximum.at(longest, instance, (rows.ends - rows.starts - rows.transfers)[rows.is_matched])
    return round(float(np.median(longest)))


def _late(rows: _Rows) -> tuple[int | None, float | None]:
    """Return the lane waited for in most instances, and its share of them."""
    late = rows.late_lanes[rows.is_matched][_firsts(rows.instances[rows.is_matched])]
    counts = np.bincount(late[late != NOT_KNOWN])
    if len(counts) == 0:
        return None, None
    return int(counts.argmax()), int(counts.max()) / len(late)


def _firsts(instances: Int64s) -> Bools:
    """Say which operations are the first of their instance."""
    firsts: Bools = ~pd.Series(instances).duplicated().to_numpy()
    return firsts


def _per_step(rows: _Rows, kept: Sequence[KeptCommunication]) -> float | None:
    """Return instances per complete step of the lane with most of them; an instance counts where any lane is in it."""
    steps = max(len(lane.step_starts) for lane in kept)
    return len(pd.unique(rows.instances[rows.is_in_step])) / steps if steps else None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Speed:
    bytes_total: int | None = None
    algorithm_bandwidth: float | None = None
    bus_bandwidth: float | None = None
    ideal_ns: int | None = None


def _speed(operation: str, rows: _Rows, *, link_bandwidth: float | None) -> _Speed:
    """Return medians over instances of known size, each by its transfer; without a split by its length."""
    known = (rows.sizes != NOT_KNOWN) & (rows.ranks > 1)
    if not known.any():
        return _Speed()
    first = _firsts(rows.instances[known])
    sizes, ranks, transfers = (column[known][first] for column in (rows.sizes, rows.ranks, rows.transfers))
    lengths = (rows.ends - rows.starts)[known][first]
    algorithm = sizes / np.where(transfers > 0, transfers, lengths) * _NS_PER_S
    total = int(sizes.sum())
    if operation == UNKNOWN or operation not in _PRICED:
        return _Speed(bytes_total=total, algorithm_bandwidth=float(np.median(algorithm)))
    factors = np.array([bus_factor(operation, count) for count in ranks.tolist()])
    ideal = sum(_ideals(operation, sizes, ranks, link_bandwidth)) if link_bandwidth else None
    return _Speed(
        bytes_total=total,
        algorithm_bandwidth=float(np.median(algorithm)),
        bus_bandwidth=float(np.median(algorithm * factors)),
        ideal_ns=ideal,
    )


def _ideals(operation: str, sizes: Int64s, ranks: Int64s, bandwidth: float) -> Iterator[int]:
    for size, count in zip(sizes.tolist(), ranks.tolist(), strict=True):
        yield ideal_ns(operation, size_bytes=size, ranks=count, bandwidth=bandwidth)
