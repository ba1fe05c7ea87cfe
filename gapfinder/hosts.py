"""The machines of a job: how far their clocks are apart, and which of them holds up the others."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True, slots=True)
class HostClock:
    """The clock of one host, held against that of another host of the same job.

    Attributes:
        host: its name, else that of its only report.
        lanes: indices (into Analysis.lanes) of the lanes on this clock.
        reference: the host that it is compared with, its own name where it is the reference itself; None where no
            collective was found on both.
        is_utc: its reports tell the wall clock of their time 0; else `offset_ns` is between two times 0.
        at_utc_ns: when it was ahead by `offset_ns`, by its own clock; None where it tells no wall clock.
        offset_ns: how far it is ahead of the reference, behind where negative; None without a reference.
        drift_ppm: by how much it is too fast for the reference; None where the capture is too short to tell.
        residual_ns: 95 % of the collectives end no further apart, once offset and drift are taken out; None without
            a reference, 0 for the reference itself.
        collectives: how many were found on this clock and on another one.
    """

    host: str
    lanes: tuple[int, ...]
    reference: str | None
    is_utc: bool
    at_utc_ns: int | None
    offset_ns: int | None
    drift_ppm: float | None
    residual_ns: int | None
    collectives: int
