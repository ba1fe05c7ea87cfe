"""Tells a slow machine from a slow GPU, and a slow network card from both, by how the hosts of a job differ."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from gapfinder.hosts import Host

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from gapfinder.analysis.intervals import Int64s
    from gapfinder.analysis.stragglers import StepTable
    from gapfinder.explanations import CollectiveSummary

    Floats = NDArray[np.float64]
    _Group = tuple[frozenset[str], tuple[str, int, bool], float]

SLOW_OWN, SLOW_TRANSFER = 1.1, 2.0
_FEWEST_LANES, _FEWEST_PEERS = 2, 2


def compare_hosts(
    names: Sequence[str], table: StepTable, *, collectives: Sequence[CollectiveSummary], caused: Int64s
) -> tuple[Host, ...]:
    """Return the hosts in order of their first lane; none where all lanes are on one.

    Args:
        names: host of each lane.
        table: times of steps.
        collectives: of all lanes.
        caused: how long others waited for each lane, ns.
    """
    distinct = list(dict.fromkeys(names))
    if len(distinct) <= 1:
        return ()
    groups = _groups(names, collectives)
    return tuple(_host(name, names, table=table, groups=groups, caused=caused) for name in distinct)


def _host(name: str, names: Sequence[str], *, table: StepTable, groups: Sequence[_Group], caused: Int64s) -> Host:
    is_own = np.array([one == name for one in names], np.bool_)
    lanes = np.flatnonzero(is_own)
    ratios = _own_ratios(table.own, is_own)
    slow = int((ratios > SLOW_OWN).sum())
    by_peers = _transfer_ratios(name, groups)
    lowest = min(by_peers, default=None)
    return Host(
        host=name,
        lanes=tuple(lanes.tolist()),
        compute_ns=_usual(table.compute[:, lanes]),
        own_ns=_usual(table.own[:, lanes]),
        own_ratio=float(np.median(ratios)) if len(ratios) else None,
        slow_steps=(slow, len(ratios)),
        caused_wait_ns=int(caused[lanes].sum()),
        transfer_ratio=lowest,
        is_slow=len(lanes) >= _FEWEST_LANES and 2 * slow > len(ratios),
        has_slow_nic=len(by_peers) >= _FEWEST_PEERS and lowest is not None and lowest >= SLOW_TRANSFER,
    )


def _usual(times: Floats) -> int | None:
    known = times[~np.isnan(times)]
    return round(float(np.median(known))) if len(known) else None


def _own_ratios(own: Floats, is_own: NDArray[np.bool_]) -> Floats:
    """Return own time of the fastest of a host's lanes to that of the median other lane, of each step that both have.

    Args:
        own: shape (steps, lanes), NaN where a lane lacks the step.
        is_own: shape (lanes,); the lanes of the host.
    """
    has_both = ~np.isnan(own[:, is_own]).all(axis=1) & ~np.isnan(own[:, ~is_own]).all(axis=1)
    if not has_both.any():
        return np.empty(0)
    usual = np.nanmedian(own[np.ix_(has_both, ~is_own)], axis=1)
    fastest = np.nanmin(own[np.ix_(has_both, is_own)], axis=1)
    ratios: Floats = fastest[usual > 0] / usual[usual > 0]
    return ratios


def _groups(names: Sequence[str], collectives: Sequence[CollectiveSummary]) -> list[_Group]:
    """Return of each kind of collective between some hosts which those are, what it is like, and what time it takes."""
    groups = []
    for one in collectives:
        hosts = frozenset(names[lane] for lane in one.lanes)
        if 1 < len(hosts) < len(set(names)) and one.transfer_ns:
            time = 1 / one.bus_bandwidth if one.bus_bandwidth else one.usual_ns
            groups.append((hosts, (one.operation, len(one.lanes), one.bus_bandwidth is None), time))
    return groups


def _transfer_ratios(name: str, groups: Sequence[_Group]) -> list[float]:
    """Return how long a host's transfers take with each group of others, to those between hosts without it."""
    ratios: dict[frozenset[str], list[float]] = {}
    for hosts, alike, time in groups:
        others = [theirs for elsewhere, kind, theirs in groups if kind == alike and name not in elsewhere]
        if name in hosts and others:
            ratios.setdefault(hosts, []).append(time / median(others))
    return [median(found) for found in ratios.values()]
