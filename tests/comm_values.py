"""Measurements that no rank made, for the judgement of communication."""

from __future__ import annotations

from itertools import combinations

from gapfinder.cost import Operation
from gapfinder.doctor.comm.measured import CollectiveTime, Measured, PairTime, ProbedRank
from gapfinder.doctor.comm.session import Probed

MB = 10**6
SECOND = 10**9


def rank(number: int, host: str, **changes) -> ProbedRank:
    facts = {
        "rank": number,
        "host": host,
        "local_rank": 0,
        "python": "3.12.1",
        "torch": "2.6.0",
        "cuda": "12.4",
        "nccl": "2.21.5",
        "gpus": 8,
        "device": 0,
        "gpu": "NVIDIA H200",
    }
    return ProbedRank(**(facts | changes))


def pair(one: int, other: int, *, there: float, back: float | None = None, within: bool = False) -> PairTime:
    """Speeds in MB/s, for 1,000 MB."""
    return PairTime(
        ranks=(one, other),
        size_bytes=1_000 * MB,
        there_ns=round(1_000 * SECOND / there),
        back_ns=round(1_000 * SECOND / (there if back is None else back)),
        latency_ns=20_000,
        is_within=within,
        times=2,
    )


def measured(hosts: str, speeds: dict[str, float] | None = None, *, otherwise: float = 1_000.0, **changes) -> Measured:
    """Ranks by the letters of their hosts; speeds in MB/s by two ranks with ">" between them, else `otherwise`."""
    speeds = speeds or {}
    pairs = [
        pair(
            one,
            other,
            there=speeds.get(f"{one}>{other}", otherwise),
            back=speeds.get(f"{other}>{one}", otherwise),
            within=hosts[one] == hosts[other],
        )
        for one, other in combinations(range(len(hosts)), 2)
    ]
    facts = {
        "backend": "nccl",
        "ranks": tuple(rank(number, host) for number, host in enumerate(hosts)),
        "collectives": (
            CollectiveTime(
                operation=Operation.ALL_REDUCE, size_bytes=8 * MB, ranks=len(hosts), time_ns=SECOND, repeats=5
            ),
        ),
        "skipped": (),
        "pairs": tuple(pairs),
        "pairs_in_all": len(pairs),
        "seconds": 1.5,
    }
    return Measured(**(facts | changes))


def both(pairs: str, speed: float) -> dict[str, float]:
    """The speed of pairs such as "0-2 1-2", in both directions."""
    ends = [word.split("-") for word in pairs.split()]
    return {f"{one}>{other}": speed for pair in ends for one, other in (pair, pair[::-1])}


def probed(result: Measured | None, *, lost: str = "", exit_code: int | None = 0) -> Probed:
    return Probed(measured=result, lost=lost, exit_code=exit_code)
