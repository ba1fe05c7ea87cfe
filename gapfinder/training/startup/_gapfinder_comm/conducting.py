"""Decides what is measured next: first collectives over sizes, then all pairs, then slow pairs again, within a time."""

from __future__ import annotations

import time
from statistics import median
from typing import TYPE_CHECKING, Any

from .turns import turns

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator

    Orders = Generator[dict[str, Any], dict[int, Any], Any]

OPERATIONS = ("all-reduce", "all-gather")
_SIZES = {
    "gloo": [1_000, 16_000, 256_000, 4_000_000, 64_000_000],
    "nccl": [1_000, 16_000, 256_000, 4_000_000, 64_000_000, 256_000_000, 1_000_000_000],
}
_PAIR_BYTES = {"gloo": 4_000_000, "nccl": 64_000_000}
_ELEMENT = 4
_FEWEST, _MOST = 3, 15
_COLLECTIVES_SHARE = 0.4
# On a GPU, starting an operation takes as long as a small one: several are started before the host waits.
_AT_ONCE, _SMALL = 20, 1_000_000
_SUSPECT = 1.3
# What disturbs a machine passes; what is broken stays so: suspects are measured again and again, some time apart.
_AGAIN, _APART_S = 10, 0.5


def conduct(hosts: list[str], *, backend: str, sizes: list[int], seconds: float) -> Orders:
    """Yield orders for all ranks, get the answers of those who take part, by rank, and return the report.

    Args:
        hosts: of the ranks.
        backend: gloo or nccl.
        sizes: of collectives, in bytes; those for the backend where none are given.
        seconds: after these nothing new begins.
    """
    started = time.monotonic()
    report: dict[str, Any] = {"collectives": [], "skipped": []}
    for at, operation in enumerate(OPERATIONS, start=1):
        until = started + seconds * _COLLECTIVES_SHARE * at / len(OPERATIONS)
        wanted = sorted({_whole(operation, size, ranks=len(hosts)) for size in sizes or _SIZES[backend]})
        yield from _sweep(operation, sizes=wanted, backend=backend, until=until, report=report)
    pairs = _Pairs(hosts, size=_PAIR_BYTES[backend])
    yield from pairs.measure(until=started + seconds)
    report.update(pair_bytes=pairs.size, pairs=list(pairs.rows()), pairs_in_all=len(hosts) * (len(hosts) - 1) // 2)
    return report


def _whole(operation: str, size: int, *, ranks: int) -> int:
    """Return the bytes that ranks can share evenly: in an all-gather each has as many elements."""
    unit = _ELEMENT * (ranks if operation == "all-gather" else 1)
    return max(1, size // unit) * unit


def _sweep(operation: str, *, sizes: list[int], backend: str, until: float, report: dict[str, Any]) -> Orders:
    """Measure sizes, small ones first, until one would take longer than there is time."""
    known: list[tuple[int, int]] = []
    for at, size in enumerate(sizes):
        left_ns = 1e9 * (until - time.monotonic())
        if known and 2 * _expected(size, known=known) > left_ns:
            report["skipped"] += [{"operation": operation, "bytes": other} for other in sizes[at:]]
            return
        at_once = _AT_ONCE if backend == "nccl" and size < _SMALL else 1
        order = {"operation": operation, "bytes": size, "at_once": at_once}
        ns, repeats = _slowest((yield {**order, "repeats": 1})), 1
        share = 1e9 * (until - time.monotonic()) / (len(sizes) - at)
        affordable = int(share / (ns * at_once)) - 1  # one more warms up
        if affordable >= _FEWEST:
            repeats = min(_MOST, affordable)
            ns = _slowest((yield {**order, "repeats": repeats}))
        report["collectives"].append({"operation": operation, "bytes": size, "ns": ns, "repeats": repeats})
        known.append((size, ns))


def _expected(size: int, *, known: list[tuple[int, int]]) -> float:
    """Return the ns that a size should take: on the line through the last two, as the first may be all latency."""
    last_size, last_ns = known[-1]
    if len(known) == 1:
        return last_ns
    before_size, before_ns = known[-2]
    return last_ns + max(0.0, (last_ns - before_ns) / (last_size - before_size)) * (size - last_size)


def _slowest(answers: dict[int, list[int]]) -> int:
    """Return how long an operation took until its last rank had it, as the median over repeats."""
    return int(median(max(times) for times in zip(*answers.values())))


class _Pairs:
    """What is known of each pair: the shortest of its medians, because whatever disturbs a machine only adds time."""

    def __init__(self, hosts: list[str], *, size: int) -> None:
        self.size = size
        self._hosts = hosts
        self._known: dict[tuple[int, int], list[int]] = {}
        self._times: dict[tuple[int, int], int] = {}

    def measure(self, *, until: float) -> Orders:
        """Measure all pairs once, then as often as there is time, then those that seem slow once more, alone."""
        plan = turns(self._hosts)
        started = time.monotonic()
        for at, turn in enumerate(plan):
            if at and time.monotonic() > until:
                return
            yield from self._turn(turn, repeats=1)
        # Half of what is left, for as many and the one that warms up; the first time through was one of each.
        affordable = (until - time.monotonic()) / (time.monotonic() - started)
        repeats = int(max(_FEWEST, min(_MOST, affordable - 1)))
        for turn in plan:
            if time.monotonic() > until:
                return
            yield from self._turn(turn, repeats=repeats)
        for _ in range(_AGAIN):
            suspects = self._suspects()
            if suspects:
                time.sleep(_APART_S)
            for pair in suspects:
                if time.monotonic() > until:
                    return
                yield from self._turn([pair], repeats=_FEWEST)

    def rows(self) -> Iterator[list[int]]:
        """Yield what is known: two ranks, ns from the first to the second and back, latency, times measured."""
        for pair in sorted(self._known):
            yield [*pair, *self._known[pair], self._times[pair]]

    def _turn(self, turn: list[tuple[int, int]], *, repeats: int) -> Orders:
        answers = yield {"pairs": turn, "bytes": self.size, "repeats": repeats}
        for one, other in turn:
            sent = (int(median(answers[rank]["sent"])) for rank in (one, other))
            found = [*sent, answers[one]["latency"]]
            known = self._known.get((one, other), found)
            self._known[one, other] = [min(old, new) for old, new in zip(known, found)]
            self._times[one, other] = self._times.get((one, other), 0) + 1

    def _suspects(self) -> list[tuple[int, int]]:
        """Return pairs that are slower than the best one of their kind, slowest first."""
        slower = {pair: max(found[:2]) for pair, found in self._known.items()}
        best: dict[bool, int] = {}
        for pair, ns in slower.items():
            kind = self._is_within(pair)
            best[kind] = min(ns, best.get(kind, ns))
        found = [pair for pair, ns in slower.items() if ns > _SUSPECT * best[self._is_within(pair)]]
        return sorted(found, key=lambda pair: (-slower[pair], pair))

    def _is_within(self, pair: tuple[int, int]) -> bool:
        return self._hosts[pair[0]] == self._hosts[pair[1]]
