"""What a simulated job is: its machines and ranks, and which faults are planted where."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from sample_profiles.states import CAPTURE_CLOCK_NS
from sample_profiles.writer import STARTED_UTC_NS

REFERENCE_UTC_NS = STARTED_UTC_NS + CAPTURE_CLOCK_NS
"""True UTC of the moment that true times are counted from, and at which clocks are off by their offset."""

HOSTS, GPUS, STEPS, LAYERS = 8, 8, 30, 4
SEED = 20_260_302

_OWN_RANDOM_STREAM = 2_000_003
_MAX_OFFSET_NS = 5_000_000
_MAX_DRIFT_PPB = 20_000
_BILLION = 1_000_000_000
_FEWEST_RANKS = 2

SLOW_COMPUTE = 1_250
"""Compute time of a slow node or GPU in thousandths of the usual."""
SLOW_NIC = 4_000
"""Transfer time over a slow NIC, likewise."""


class Fault(StrEnum):
    """What can be wrong with a job or with the reports of it."""

    SLOW_NODE = "slow-node"
    SLOW_NIC = "slow-nic"
    SLOW_GPU = "slow-gpu"
    MISSING_RANK = "missing-rank"
    TRUNCATED_REPORT = "truncated-report"
    CLOCK_OFFSETS = "clock-offsets"
    CLOCK_DRIFT = "clock-drift"


@dataclass(frozen=True, kw_only=True, slots=True)
class HostClock:
    """A machine's clock, at the reference `offset_ns` ahead of the true time and from then on `drift_ppb` too fast."""

    offset_ns: int
    drift_ppb: int

    def read(self, time: int) -> int:
        """Return the UTC that the clock shows at `time`, which is simulated; it never runs backwards."""
        elapsed = time - CAPTURE_CLOCK_NS
        return REFERENCE_UTC_NS + elapsed + self.offset_ns + elapsed * self.drift_ppb // _BILLION


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """A training of `hosts` machines with `gpus` ranks each.

    Faults have fixed places, in a smaller job than the usual one (8 by 8) modulo its size.
    """

    hosts: int = HOSTS
    gpus: int = GPUS
    steps: int = STEPS
    layers: int = LAYERS
    seed: int = SEED
    faults: frozenset[Fault] = frozenset(Fault)

    def __post_init__(self) -> None:
        if min(self.hosts, self.gpus, self.steps, self.layers) < 1 or self.world_size < _FEWEST_RANKS:
            raise ValueError("a job needs at least two ranks, one step and one layer")
        if Fault.SLOW_NIC in self.faults and self.hosts == 1:
            raise ValueError(f"{Fault.SLOW_NIC} needs at least two hosts")

    @property
    def world_size(self) -> int:
        """How many ranks there are."""
        return self.hosts * self.gpus

    def host_of(self, rank: int) -> int:
        """Return the number of the machine that a rank runs on."""
        return rank // self.gpus

    def ranks_of(self, host: int) -> tuple[int, ...]:
        """Return the ranks on a machine."""
        return tuple(range(host * self.gpus, (host + 1) * self.gpus))

    @property
    def slow_host(self) -> int | None:
        """The machine whose GPUs all compute slowly."""
        return self._if(Fault.SLOW_NODE, 3 % self.hosts)

    @property
    def slow_nic(self) -> int | None:
        """The machine whose NIC is slow."""
        return self._if(Fault.SLOW_NIC, 5 % self.hosts)

    @property
    def slow_rank(self) -> int | None:
        """The rank whose GPU alone computes slowly; on the slow node only where there is no other."""
        rank = 12 % self.world_size
        if self.host_of(rank) == 3 % self.hosts:
            rank = (rank + self.gpus) % self.world_size
        return self._if(Fault.SLOW_GPU, rank)

    @property
    def missing_rank(self) -> int | None:
        """The rank that nothing is written of."""
        return self._if(Fault.MISSING_RANK, 17 % self.world_size)

    @property
    def truncated_rank(self) -> int | None:
        """The rank whose report is cut; not the one that `missing_rank` would be."""
        rank = 60 % self.world_size
        if rank == 17 % self.world_size:
            rank = (rank + 1) % self.world_size
        return self._if(Fault.TRUNCATED_REPORT, rank)

    def _if(self, fault: Fault, place: int) -> int | None:
        return place if fault in self.faults else None

    def slowdown_of(self, rank: int) -> int:
        """Return a rank's compute time in thousandths of the usual."""
        slowdown = 1_000
        for is_slow in (self.host_of(rank) == self.slow_host, rank == self.slow_rank):
            slowdown = slowdown * (SLOW_COMPUTE if is_slow else 1_000) // 1_000
        return slowdown

    def clocks(self) -> list[HostClock]:
        """Return the clock of each machine."""
        rng = np.random.default_rng([self.seed, _OWN_RANDOM_STREAM])
        offsets = rng.integers(-_MAX_OFFSET_NS, _MAX_OFFSET_NS + 1, self.hosts).tolist()
        drifts = rng.integers(-_MAX_DRIFT_PPB, _MAX_DRIFT_PPB + 1, self.hosts).tolist()
        has_offsets, has_drift = Fault.CLOCK_OFFSETS in self.faults, Fault.CLOCK_DRIFT in self.faults
        return [
            HostClock(offset_ns=offset * has_offsets, drift_ppb=drift * has_drift)
            for offset, drift in zip(offsets, drifts, strict=True)
        ]
