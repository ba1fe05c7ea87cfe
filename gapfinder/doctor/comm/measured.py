"""What the ranks of a job measured, as the first of them reports it."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING

from gapfinder.cost import Operation, bus_factor
from gapfinder.units import NS_PER_S

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any


@dataclass(frozen=True, kw_only=True, slots=True)
class ProbedRank:
    """A rank and what it found around it.

    Attributes:
        cuda: the version that torch was built with; None for a build without.
        nccl: None where the rank sees no GPU, or torch has no NCCL.
        gpus: how many GPUs the rank sees.
        device: which of them is its own; None where it has none for itself.
        gpu: the name of that one.
    """

    rank: int
    host: str
    local_rank: int
    python: str
    torch: str
    cuda: str | None
    nccl: str | None
    gpus: int
    device: int | None
    gpu: str | None


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectiveTime:
    """One operation at one size.

    Attributes:
        size_bytes: the whole array, as nccl-tests counts it.
        time_ns: until the last rank had it; median over the repeats.
        algorithm_bandwidth, bus_bandwidth: bytes per second.
    """

    operation: Operation
    size_bytes: int
    ranks: int
    time_ns: int
    repeats: int

    @property
    def algorithm_bandwidth(self) -> float:
        """Size by time."""
        return self.size_bytes * NS_PER_S / self.time_ns

    @property
    def bus_bandwidth(self) -> float:
        """What went through each rank's link by time: comparable with the link, however many ranks there are."""
        return self.algorithm_bandwidth * bus_factor(self.operation, self.ranks)


@dataclass(frozen=True, kw_only=True, slots=True)
class PairTime:
    """Two ranks that sent to each other, one after the other.

    Attributes:
        ranks: the lower one first.
        there_ns, back_ns: from the first to the second and back, each until the answer that all had come.
        latency_ns: half of what a few bytes need there and back.
        is_within: both are on one host.
        times: how often it was measured; the best is kept.
    """

    ranks: tuple[int, int]
    size_bytes: int
    there_ns: int
    back_ns: int
    latency_ns: int
    is_within: bool
    times: int

    @property
    def there(self) -> float:
        """Bytes per second from the first to the second."""
        return self.size_bytes * NS_PER_S / self.there_ns

    @property
    def back(self) -> float:
        """Bytes per second from the second to the first."""
        return self.size_bytes * NS_PER_S / self.back_ns

    @property
    def bandwidth(self) -> float:
        """The slower direction's."""
        return min(self.there, self.back)

    def sent_by(self, rank: int) -> float:
        """Bytes per second from one of the two to the other."""
        return self.there if rank == self.ranks[0] else self.back


@dataclass(frozen=True, kw_only=True, slots=True)
class Measured:
    """Everything that was measured.

    Attributes:
        skipped: operations and sizes that there was no time for.
        pairs_in_all: how many there are; `pairs` are those that there was time for.
        seconds: that the measuring took.
    """

    backend: str
    ranks: tuple[ProbedRank, ...]
    collectives: tuple[CollectiveTime, ...]
    skipped: tuple[tuple[Operation, int], ...]
    pairs: tuple[PairTime, ...]
    pairs_in_all: int
    seconds: float

    @property
    def hosts(self) -> tuple[str, ...]:
        """Every host once, in the order of ranks."""
        return tuple(dict.fromkeys(rank.host for rank in self.ranks))


def read_report(report: Mapping[str, Any]) -> Measured:
    """Return what the first rank reported; see the probe's conducting.py."""
    names = {field.name for field in fields(ProbedRank)}
    ranks = tuple(
        ProbedRank(rank=rank, **{name: value for name, value in facts.items() if name in names})
        for rank, facts in enumerate(report["ranks"])
    )
    return Measured(
        backend=report["backend"],
        ranks=ranks,
        collectives=tuple(
            CollectiveTime(
                operation=Operation(one["operation"]),
                size_bytes=one["bytes"],
                ranks=len(ranks),
                time_ns=one["ns"],
                repeats=one["repeats"],
            )
            for one in report["collectives"]
        ),
        skipped=tuple((Operation(one["operation"]), one["bytes"]) for one in report["skipped"]),
        pairs=tuple(
            PairTime(
                ranks=(one, other),
                size_bytes=report["pair_bytes"],
                there_ns=there,
                back_ns=back,
                latency_ns=latency,
                is_within=ranks[one].host == ranks[other].host,
                times=times,
            )
            for one, other, there, back, latency, times in report["pairs"]
        ),
        pairs_in_all=report["pairs_in_all"],
        seconds=report["seconds"],
    )
