"""Says which pairs of ranks are measured at once: no host is ever in two of them, so that none shares its card."""

from __future__ import annotations

from itertools import combinations, product
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator


def turns(hosts: list[str]) -> list[list[tuple[int, int]]]:
    """Return all pairs of ranks in turns, in each of which a host is in one pair at most.

    Hosts meet in the rounds of a tournament. Between two of them, ranks with the same place come first, as their cards
    are often on one switch: when the time is short, those have been measured.
    """
    ranks: dict[str, list[int]] = {}
    for rank, host in enumerate(hosts):
        ranks.setdefault(host, []).append(rank)
    names = list(ranks)
    within = [list(combinations(ranks[name], 2)) for name in names]
    found = list(_at_once(within))
    between = [[_between(ranks[one], ranks[other]) for one, other in met] for met in tournament(names)]
    places = max((len(pairs) for met in between for pairs in met), default=0)
    for place in range(places):
        for met in between:
            turn = [pairs[place] for pairs in met if place < len(pairs)]
            if turn:
                found.append(turn)
    return found


def tournament(names: list[str]) -> Iterator[list[tuple[str, str]]]:
    """Yield rounds in which everyone meets one other at most, until all have met (the circle method)."""
    circle: list[str | None] = [*names, *([None] if len(names) % 2 else [])]
    for _ in range(len(circle) - 1):
        half = len(circle) // 2
        pairs = zip(circle[:half], reversed(circle[half:]))
        yield [(one, other) for one, other in pairs if one is not None and other is not None]
        circle.insert(1, circle.pop())


def _between(ours: list[int], theirs: list[int]) -> list[tuple[int, int]]:
    pairs = product(range(len(ours)), range(len(theirs)))
    ordered = sorted(pairs, key=lambda pair: ((pair[1] - pair[0]) % len(theirs), pair))
    return [tuple(sorted((ours[one], theirs[other]))) for one, other in ordered]  # type: ignore[misc]


def _at_once(within: list[list[tuple[int, int]]]) -> Iterator[list[tuple[int, int]]]:
    """Yield the first pair of every host, then the second ones, and so on."""
    for place in range(max(map(len, within), default=0)):
        yield [pairs[place] for pairs in within if place < len(pairs)]
