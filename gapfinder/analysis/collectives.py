"""The bill of each collective: how often, how long, how much of it hidden, who waited, and how fast the link was."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from gapfinder.analysis.intervals import Measure, clip, union
from gapfinder.analysis.tracks import NOT_KNOWN
from gapfinder.explanations import CollectiveSummary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.analysis.collective_rows import CollectiveRows, Kind
    from gapfinder.analysis.communication import KeptCommunication
    from gapfinder.analysis.intervals import Bools, Int64s


_FEWEST_ALIKE = 20
_FASTEST = 0.9


def summarise_collectives(
    rows: CollectiveRows, kinds: Sequence[Kind], *, kept: Sequence[KeptCommunication]
) -> tuple[CollectiveSummary, ...]:
    """Return one summary per operation and communicator, the one with most exposed time first.

    Args:
        rows: the operations of all lanes.
        kinds: what `rows.keys` counts.
        kept: communication of each lane.
    """
    computed = [Measure(lane.computed) for lane in kept]
    found = [
        _summary(kind, own, kept=kept, computed=computed)
        for kind, own in zip(kinds, rows.by_kind(len(kinds)), strict=True)
    ]
    return tuple(sorted(found, key=lambda one: (-one.exposed_ns, -one.total_ns, one.operation, one.communicator)))


def _summary(
    kind: Kind, rows: CollectiveRows, *, kept: Sequence[KeptCommunication], computed: Sequence[Measure]
) -> CollectiveSummary:
    edges = np.flatnonzero(np.diff(rows.lanes, prepend=-1, append=len(kept)))
    lanes = rows.lanes[edges[:-1]].tolist()
    hidden, exposed = 0, 0
    for lane, (first, last) in zip(lanes, pairwise(edges.tolist()), strict=True):
        covered = clip(union(rows.starts[first:last], rows.ends[first:last]), window=kept[lane].window)
        inside = int(computed[lane].within(covered.starts, covered.ends).sum())
        hidden, exposed = hidden + inside, exposed + covered.total - inside
    lengths = rows.ends - rows.starts
    transfer = int(rows.transfers[rows.is_matched].sum())
    is_split = bool(rows.is_matched.any())
    late_lane, late_share = _late(rows)
    speed = _speed(rows)
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
        ideal_share=speed.ideal_share,
        own_share=speed.own_share,
    )


def _skew(rows: CollectiveRows) -> int:
    """Return the longest wait of an instance, as a median over instances."""
    instance, distinct = pd.factorize(rows.instances[rows.is_matched])
    longest = np.zeros(len(distinct), np.int64)
    np.maximum.at(longest, instance, (rows.ends - rows.starts - rows.transfers)[rows.is_matched])
    return round(float(np.median(longest)))


def _late(rows: CollectiveRows) -> tuple[int | None, float | None]:
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


def _per_step(rows: CollectiveRows, kept: Sequence[KeptCommunication]) -> float | None:
    """Return instances per complete step of the lane with most of them; an instance counts where any lane is in it."""
    steps = max(len(lane.step_starts) for lane in kept)
    return len(pd.unique(rows.instances[rows.steps != NOT_KNOWN])) / steps if steps else None


@dataclass(frozen=True, kw_only=True, slots=True)
class _Speed:
    bytes_total: int | None = None
    algorithm_bandwidth: float | None = None
    bus_bandwidth: float | None = None
    ideal_ns: int | None = None
    ideal_share: float | None = None
    own_share: float | None = None


def _speed(rows: CollectiveRows) -> _Speed:
    """Return medians over instances of known size, each by its transfer; without a split by its length."""
    known = ~np.isnan(rows.algorithm)
    if not known.any():
        return _Speed()
    first = known.copy()
    first[known] = _firsts(rows.instances[known])
    bus = rows.bus[first]
    has_ideal = rows.ideals != NOT_KNOWN
    ideal, moving = int(rows.ideals[has_ideal].sum()), int(rows.moving[has_ideal].sum())
    return _Speed(
        bytes_total=int(rows.sizes[first].sum()),
        algorithm_bandwidth=float(np.median(rows.algorithm[first])),
        bus_bandwidth=None if np.isnan(bus).any() else float(np.median(bus)),
        ideal_ns=ideal if has_ideal.any() else None,
        ideal_share=ideal / moving if moving else None,
        own_share=_own_share(rows.select(first & rows.is_matched & rows.is_here)),
    )


def _own_share(rows: CollectiveRows) -> float | None:
    """Return the median bandwidth to that of the fastest tenth, among the sizes in which most bytes were moved.

    Sizes are alike within a factor of two. None with fewer than 20 instances of them.
    """
    if len(rows) < _FEWEST_ALIKE or np.isnan(rows.bus).any():
        return None
    sizes = rows.sizes.astype(np.float64)
    alike = np.frexp(sizes)[1]
    mine = rows.bus[alike == np.bincount(alike, weights=sizes).argmax()]
    if len(mine) < _FEWEST_ALIKE:
        return None
    return float(np.median(mine) / np.quantile(mine, _FASTEST))
