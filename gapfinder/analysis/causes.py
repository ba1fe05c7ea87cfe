"""Charges every hole of a lane to its causes: idle and copies first, communication once all lanes are known."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.analysis.copies import HOST_TO_DEVICE
from gapfinder.analysis.evidence import SeenHole, Witness
from gapfinder.analysis.hints import OPERATIONS
from gapfinder.analysis.host_events import CAUSES, PLACE, Layers
from gapfinder.analysis.idle_causes import charge_idle, idle_parts, launched_at
from gapfinder.analysis.intervals import Intervals, union
from gapfinder.analysis.tracks import NOT_KNOWN
from gapfinder.explanations import EXPOSED_CAUSES, Cause, Evidence

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd

    from gapfinder.analysis.communication import KeptCommunication
    from gapfinder.analysis.host_time import HostTime
    from gapfinder.analysis.idle_causes import IdleParts, Launched
    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.lanes import LaneOperations
    from gapfinder.analysis.launches import Launches
    from gapfinder.analysis.matching import CommunicationTimes
    from gapfinder.analysis.timeline import HoleParts
    from gapfinder.model import Hole, Lane

_HOLES_AT_ONCE = 1 << 16
_NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, slots=True, eq=False)
class ChargedHoles:
    """A lane's holes with idle time and copies charged, and communication not yet; it may travel between processes.

    Attributes:
        with_communication: the holes that are still to be charged, in part or whole: never more than operations.
        totals: shape (causes,), ns over all holes.
        top: the holes that are kept in full, shape (top,), ns.
        top_shares: shape (causes, top), ns.
        top_evidence: what was seen in each of the top ones, of its main cause but communication.
        top_communication: range in which each one's longest exposed communication was launched.
    """

    with_communication: Intervals
    totals: Int64s
    top: tuple[Int64s, Int64s]
    top_shares: Int64s
    top_evidence: tuple[Evidence, ...]
    top_communication: tuple[str | None, ...]

    @classmethod
    def joined(cls, parts: Sequence[ChargedHoles], *, top: Sequence[int]) -> ChargedHoles:
        """Return the holes of all stretches of a lane, which come in order.

        `top` says which are kept in full, by their places among all that the parts kept.
        """
        chosen = list(top)
        evidence = [one for part in parts for one in part.top_evidence]
        around = [one for part in parts for one in part.top_communication]
        return cls(
            Intervals(
                np.concatenate([part.with_communication.starts for part in parts]),
                np.concatenate([part.with_communication.ends for part in parts]),
            ),
            np.sum([part.totals for part in parts], axis=0),
            (
                np.concatenate([part.top[0] for part in parts])[chosen],
                np.concatenate([part.top[1] for part in parts])[chosen],
            ),
            np.concatenate([part.top_shares for part in parts], axis=1)[:, chosen],
            tuple(evidence[place] for place in chosen),
            tuple(around[place] for place in chosen),
        )

    def explain(self, lane: Lane, *, communication: KeptCommunication, times: CommunicationTimes) -> Lane:
        """Return the lane with its communication charged as well, so that its causes add up to its holes."""
        layers = communication_layers(communication, times)
        holes = self.with_communication
        totals = self.totals + layers.within(holes.starts, holes.ends).sum(axis=1)
        top_shares = self.top_shares + layers.within(*self.top)
        top = tuple(
            _explained(_about(hole, own, launched_in=name), own, communication, times)
            for hole, own, name in zip(lane.holes.top, top_shares.T.tolist(), self.top_communication, strict=True)
        )
        return replace(lane, holes=replace(lane.holes, top=top), causes=_by_cause(totals.tolist()))


@dataclass(frozen=True, slots=True, eq=False)
class HoleSources:
    """What the holes of one lane are explained from.

    Attributes:
        lane: its operations.
        copies: the rows of COPIES that its copies were made from.
        ranges: frame RANGES.
        busy: when at least one operation runs.
        launches: CUDA calls of its process; None where none was captured.
        host: what the threads of its process did.
    """

    lane: LaneOperations
    copies: pd.DataFrame
    ranges: pd.DataFrame
    busy: Intervals
    launches: Launches | None
    host: HostTime


def charge_holes(holes: HoleParts, *, sources: HoleSources, top: Int64s) -> ChargedHoles:
    """Charge the idle time and the copies of all holes; what is kept of each is only that of the `top` ones."""
    idle, final, opened = _asked(holes, sources=sources)
    totals = np.zeros(len(CAUSES), np.int64)
    top_shares = np.zeros((len(CAUSES), len(top)), np.int64)
    for first, shares in _shares(holes, sources=sources, idle=idle, final=final, opened=opened):
        totals += shares.sum(axis=1)
        kept = np.flatnonzero((top >= first) & (top < first + shares.shape[1]))
        top_shares[:, kept] = shares[:, top[kept] - first]
    witness = Witness(sources)
    evidence = tuple(
        witness.evidence(
            SeenHole(
                start=int(holes.starts[place]),
                end=int(holes.ends[place]),
                place=np.array([place]),
                cause=CAUSES[int(np.argmax(shares))] if shares.any() else None,
                idle=idle.of_holes(place, place + 1),
                final=final,
                opened=opened,
            )
        )
        for place, shares in zip(top.tolist(), top_shares.T, strict=True)
    )
    edges = holes.starts[top], holes.ends[top]
    around = (witness.around_communication(*span) for span in np.stack(edges, axis=1).tolist())
    is_open = holes.exposed > 0
    return ChargedHoles(
        Intervals(holes.starts[is_open], holes.ends[is_open]), totals, edges, top_shares, evidence, tuple(around)
    )


def hole_shares(holes: HoleParts, *, sources: HoleSources) -> Int64s:
    """Return what `charge_holes` charges of every single hole, communication not yet; shape (causes, holes), ns."""
    idle, final, opened = _asked(holes, sources=sources)
    found = [shares for _, shares in _shares(holes, sources=sources, idle=idle, final=final, opened=opened)]
    return np.concatenate(found, axis=1) if found else np.zeros((len(CAUSES), 0), np.int64)


def _asked(holes: HoleParts, *, sources: HoleSources) -> tuple[IdleParts, Launched, Int64s]:
    """Return the holes' idle stretches, the launch call of what ends each hole, and since when graphs may run in it."""
    lane = sources.lane
    idle = idle_parts(lane, holes=holes, busy=sources.busy, launches=sources.launches)
    final = launched_at((lane.compute, lane.graphs), holes.ends, launches=sources.launches)
    return idle, final, _graphs_may_run(holes, sources=sources)


def _shares(
    holes: HoleParts, *, sources: HoleSources, idle: IdleParts, final: Launched, opened: Int64s
) -> Iterator[tuple[int, Int64s]]:
    """Yield the place of a hole, and the shares of it and those after it by cause; shape (causes, some), ns."""
    copies = _copy_layers(sources)
    for first in range(0, len(holes), _HOLES_AT_ONCE):
        chunk = slice(first, first + _HOLES_AT_ONCE)
        shares = copies.within(holes.starts[chunk], holes.ends[chunk])
        shares[PLACE[Cause.EXPOSED_COMMUNICATION]] = 0
        parts = idle.of_holes(first, first + shares.shape[1])
        charged = charge_idle(parts, hole_ends=final, host=sources.host, opened=opened)
        for place in np.flatnonzero(charged.any(axis=1)).tolist():
            np.add.at(shares[place], parts.holes - first, charged[place])
        yield first, shares


def _copy_layers(sources: HoleSources) -> Layers:
    """Return communication, copies from the host, and other copies, each without those before it."""
    copies = sources.lane.copies
    from_host = copies.select(sources.copies["kind"].to_numpy() == HOST_TO_DEVICE)
    return Layers(
        [
            (Cause.EXPOSED_COMMUNICATION, sources.lane.communication.covered()),
            (Cause.HOST_TO_DEVICE_COPY, from_host.covered()),
            (Cause.COPY, copies.covered()),
        ]
    )


def communication_layers(communication: KeptCommunication, times: CommunicationTimes) -> Layers:
    """Return transfers, waits and what cannot be told apart, each without those before it."""
    starts, ends, transfers = times.starts, times.ends, times.transfer_starts
    is_split = transfers != NOT_KNOWN
    is_pass = communication.is_pass
    sets = (
        (Cause.EXPOSED_TRANSFER, union(transfers[is_split], ends[is_split])),
        (Cause.EXPOSED_WAIT, union(starts[is_split & ~is_pass], transfers[is_split & ~is_pass])),
        (Cause.PIPELINE_BUBBLE, union(starts[is_split & is_pass], transfers[is_split & is_pass])),
        (Cause.EXPOSED_COMMUNICATION, union(starts, ends)),
    )
    return Layers(sets)


def _graphs_may_run(holes: HoleParts, *, sources: HoleSources) -> Int64s:
    """Return since when CUDA graphs that left no trace may run in each hole; the largest int64 where none can.

    A graph that was launched after the operation before the hole comes after it on the GPU, too.
    """
    graphs, compute = sources.host.graph_launches, sources.lane.compute
    if len(graphs) == 0 or sources.launches is None:
        return np.full(len(holes), _NEVER, np.int64)
    order = np.argsort(compute.ends, kind="stable")
    before = np.searchsorted(compute.ends[order], holes.starts, side="right") - 1
    launched = np.zeros(len(holes), np.int64)
    found = before >= 0
    launched[found] = sources.launches.starts_of(compute.calls[order[before[found]]])
    first = np.append(graphs, _NEVER)[np.searchsorted(graphs, np.minimum(launched, holes.starts))]
    return np.where(first < holes.ends, first, _NEVER)


def _about(hole: Hole, shares: Sequence[int], *, launched_in: str | None) -> Hole:
    """Return the hole with its main cause; one of communication is seen in the range that launched it, in no call."""
    cause = CAUSES[int(np.argmax(shares))]
    if cause not in EXPOSED_CAUSES:
        return replace(hole, cause=cause)
    return replace(hole, cause=cause, evidence=replace(hole.evidence, call=None, call_ns=None, nvtx=launched_in))


def _explained(hole: Hole, shares: Sequence[int], communication: KeptCommunication, times: CommunicationTimes) -> Hole:
    """Return the hole with its shares and what its longest exposed communication was."""
    by_cause = _by_cause(shares)
    evidence = replace(hole.evidence, shares=by_cause)
    exposed = _lengths_inside(times.starts, times.ends, hole)
    if hole.exposed_ns and len(exposed):
        waits = _lengths_inside(times.starts, times.transfer_starts, hole)
        late = int(times.late_lanes[np.argmax(waits)]) if waits.any() else NOT_KNOWN
        is_split = Cause.EXPOSED_COMMUNICATION not in by_cause
        evidence = replace(
            evidence,
            operation=OPERATIONS[int(communication.operations[np.argmax(exposed)])],
            wait_ns=by_cause.get(Cause.EXPOSED_WAIT, 0) + by_cause.get(Cause.PIPELINE_BUBBLE, 0) if is_split else None,
            transfer_ns=by_cause.get(Cause.EXPOSED_TRANSFER, 0) if is_split else None,
            late_lane=late if late != NOT_KNOWN else None,
        )
    return replace(hole, evidence=evidence)


def _lengths_inside(starts: Int64s, ends: Int64s, hole: Hole) -> Int64s:
    """Return how much of each [start, end) lies in the hole; shape (n,), ns."""
    lengths: Int64s = np.maximum(np.minimum(ends, hole.end_ns) - np.maximum(starts, hole.start_ns), 0)
    return lengths


def _by_cause(shares: Sequence[int]) -> dict[Cause, int]:
    """Return the causes that have a share."""
    return {cause: share for cause, share in zip(CAUSES, shares, strict=True) if share}
