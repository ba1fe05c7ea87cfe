"""Tells a slow card from a slow link: in a table of who reaches whom how fast, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median, median_low
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    Speeds = Mapping[tuple[int, int], float]

_FEWEST_PAIRS = 3
_RARE = 4  # slow links are faults while they are one in so many; more of them are how the machine is built


@dataclass(frozen=True, kw_only=True, slots=True)
class Slow:
    """What is slow, with its bandwidth and that of the others.

    Attributes:
        nodes: those whose best pair is slow, against what is typical of the others without them.
        links: pairs that are slow though neither of the two is, against the median of such pairs.
        many: how many pairs are slow in the same way, where they are too many to be faults.
        knows_nodes, knows_links: whether there was enough to compare.
    """

    nodes: dict[int, tuple[float, float]]
    links: dict[tuple[int, int], tuple[float, float]]
    many: int
    knows_nodes: bool
    knows_links: bool


def find_slow(speeds: Speeds, *, ratio: float) -> Slow:
    """Return which nodes and which links are `ratio` times slower, of a table by pair of nodes; it may have holes."""
    partners: dict[int, dict[int, float]] = {}
    for (one, other), speed in speeds.items():
        partners.setdefault(one, {})[other] = speed
        partners.setdefault(other, {})[one] = speed
    references = {
        node: _typical_without(node, partners=partners) for node, others in partners.items() if len(others) > 1
    }
    nodes = {
        node: (max(partners[node].values()), reference)
        for node, reference in sorted(references.items())
        if reference is not None and max(partners[node].values()) * ratio <= reference
    }
    left = {pair: speed for pair, speed in speeds.items() if not nodes.keys() & set(pair)}
    typical = median(left.values()) if left else 0.0
    knows_links = len(left) >= _FEWEST_PAIRS
    links = {pair: (speed, typical) for pair, speed in sorted(left.items()) if knows_links and speed * ratio <= typical}
    is_built_so = len(links) > max(1, len(left) // _RARE)
    return Slow(
        nodes=nodes,
        links={} if is_built_so else links,
        many=len(links) if is_built_so else 0,
        knows_nodes=any(reference is not None for reference in references.values()),
        knows_links=knows_links,
    )


def _typical_without(node: int, *, partners: Mapping[int, Mapping[int, float]]) -> float | None:
    """Return the median over the other nodes of their medians, of pairs without `node`.

    Lower medians: of four nodes, all pairs but one are slow when two nodes are slow, and also when one pair had a good
    moment; nobody can tell which.
    """
    medians = []
    for other, its in partners.items():
        speeds = [speed for partner, speed in its.items() if partner != node]
        if other != node and speeds:
            medians.append(median_low(speeds))
    return median_low(medians) if medians else None
