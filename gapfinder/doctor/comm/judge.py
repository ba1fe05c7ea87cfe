"""Judges pairs of ranks: hosts first, then ranks; pairs within hosts apart from those between hosts."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING

from gapfinder.doctor.comm.slow import Slow, find_slow

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from gapfinder.doctor.comm.measured import Measured, PairTime

RATIOS = {"nccl": 1.5, "gloo": 3.0}
"""How many times slower than the others something is when it is called slow.

Between GPUs, equal links differ by a tenth or so, and what is broken (half of the lanes, a card at a fraction of its
rate, a cable that sends again) is twice as slow or more. gloo copies on CPUs, and a neighbour that computes makes some
pairs twice as slow for minutes; a network card that has fallen to a lower speed is ten times as slow.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class SlowCard:
    """A rank, or all ranks of a host, slow with every other.

    Attributes:
        rank: None where it is the whole host.
        best, typical: bytes per second: of its best pair, and of pairs without it.
        direction: "sending" or "receiving" where only that is slow, else "".
    """

    rank: int | None
    host: str
    is_within: bool
    best: float
    typical: float
    direction: str


@dataclass(frozen=True, kw_only=True, slots=True)
class SlowLink:
    """A pair that is slow though both are fast with others.

    Attributes:
        ranks: None where all pairs of the two hosts are slow.
        direction: (from, to), by rank, where only that is slow.
    """

    ranks: tuple[int, int] | None
    hosts: tuple[str, str]
    is_within: bool
    speed: float
    typical: float
    direction: tuple[int, int] | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Kind:
    """All pairs within hosts, or all between hosts.

    Attributes:
        slowest, typical, fastest: bytes per second of a pair, in its slower direction.
        latency_ns: median of the pairs.
        many: pairs that are slow in the same way, too many to be faults.
        is_uneven: the slowest pair is slow against the fastest one, whatever explains it.
        knows_cards, knows_links: whether there was enough to compare.
    """

    is_within: bool
    pairs: int
    slowest: PairTime
    typical: float
    fastest: PairTime
    latency_ns: int
    cards: tuple[SlowCard, ...]
    links: tuple[SlowLink, ...]
    many: int
    is_uneven: bool
    knows_cards: bool
    knows_links: bool


def judge(measured: Measured) -> tuple[Kind, ...]:
    """Return what the pairs of each kind tell; a kind without pairs is left out."""
    hosts = [rank.host for rank in measured.ranks]
    kinds = ([pair for pair in measured.pairs if pair.is_within is within] for within in (True, False))
    return tuple(_kind(pairs, hosts=hosts, ratio=RATIOS[measured.backend]) for pairs in kinds if pairs)


def _kind(pairs: Sequence[PairTime], *, hosts: Sequence[str], ratio: float) -> Kind:
    is_within = pairs[0].is_within
    whole = Slow(nodes={}, links={}, many=0, knows_nodes=False, knows_links=False)
    cards: list[SlowCard] = []
    links: list[SlowLink] = []
    left = list(pairs)
    names = list(dict.fromkeys(hosts))
    if not is_within and len(names) < len(hosts):
        whole, cards, links = _between_hosts(pairs, names=names, hosts=hosts, ratio=ratio)
        slow = {card.host for card in cards}
        joined = {link.hosts for link in links}
        left = [pair for pair in pairs if not slow & _ends(pair, hosts) and _route(pair, hosts) not in joined]
    found = find_slow({pair.ranks: pair.bandwidth for pair in left}, ratio=ratio)
    cards += _cards(found, pairs=left, hosts=hosts, ratio=ratio)
    links += _links(found, pairs=left, hosts=hosts, ratio=ratio)
    by_speed = sorted(pairs, key=lambda pair: pair.bandwidth)
    slowest, fastest = by_speed[0], by_speed[-1]
    return Kind(
        is_within=is_within,
        pairs=len(pairs),
        slowest=slowest,
        typical=median(pair.bandwidth for pair in pairs),
        fastest=fastest,
        latency_ns=round(median(pair.latency_ns for pair in pairs)),
        cards=tuple(cards),
        links=tuple(links),
        many=found.many,
        is_uneven=slowest.bandwidth * ratio <= fastest.bandwidth,
        knows_cards=whole.knows_nodes or found.knows_nodes,
        knows_links=whole.knows_links or found.knows_links,
    )


def _ends(pair: PairTime, hosts: Sequence[str]) -> set[str]:
    return {hosts[rank] for rank in pair.ranks}


def _route(pair: PairTime, hosts: Sequence[str]) -> tuple[str, str]:
    one, other = sorted((hosts[rank] for rank in pair.ranks), key=hosts.index)
    return one, other


def _between_hosts(
    pairs: Sequence[PairTime], *, names: Sequence[str], hosts: Sequence[str], ratio: float
) -> tuple[Slow, list[SlowCard], list[SlowLink]]:
    """Judge hosts by the best pair between any two of them."""
    best: dict[tuple[int, int], float] = {}
    for pair in pairs:
        one, other = (names.index(host) for host in _route(pair, hosts))
        best[one, other] = max(pair.bandwidth, best.get((one, other), 0.0))
    found = find_slow(best, ratio=ratio)
    cards = [
        SlowCard(
            rank=None,
            host=names[node],
            is_within=False,
            best=speed,
            typical=typical,
            direction=_direction(
                [(pair, rank) for pair in pairs for rank in pair.ranks if hosts[rank] == names[node]],
                typical=typical,
                ratio=ratio,
            ),
        )
        for node, (speed, typical) in found.nodes.items()
    ]
    links = [
        SlowLink(
            ranks=None,
            hosts=(names[one], names[other]),
            is_within=False,
            speed=speed,
            typical=typical,
            direction=None,
        )
        for (one, other), (speed, typical) in found.links.items()
    ]
    return found, cards, links


def _cards(found: Slow, *, pairs: Sequence[PairTime], hosts: Sequence[str], ratio: float) -> Iterable[SlowCard]:
    for rank, (speed, typical) in found.nodes.items():
        own = [(pair, rank) for pair in pairs if rank in pair.ranks]
        yield SlowCard(
            rank=rank,
            host=hosts[rank],
            is_within=pairs[0].is_within,
            best=speed,
            typical=typical,
            direction=_direction(own, typical=typical, ratio=ratio),
        )


def _links(found: Slow, *, pairs: Sequence[PairTime], hosts: Sequence[str], ratio: float) -> Iterable[SlowLink]:
    by_ranks = {pair.ranks: pair for pair in pairs}
    for ranks, (speed, typical) in found.links.items():
        pair = by_ranks[ranks]
        slow = [(rank, other) for rank, other in (ranks, ranks[::-1]) if pair.sent_by(rank) * ratio <= typical]
        yield SlowLink(
            ranks=ranks,
            hosts=(hosts[ranks[0]], hosts[ranks[1]]),
            is_within=pair.is_within,
            speed=speed,
            typical=typical,
            direction=slow[0] if len(slow) == 1 else None,
        )


def _direction(own: Sequence[tuple[PairTime, int]], *, typical: float, ratio: float) -> str:
    """Return the one direction in which the best of a card's pairs is slow."""
    sending = max(pair.sent_by(rank) for pair, rank in own)
    receiving = max(pair.sent_by(sum(pair.ranks) - rank) for pair, rank in own)
    is_slow = [name for name, speed in (("sending", sending), ("receiving", receiving)) if speed * ratio <= typical]
    return is_slow[0] if len(is_slow) == 1 else ""
