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


@dataclass(frozen=True, kw_only=True, slots=True)
class Host:
    """One machine beside the others of its job.

    Attributes:
        host: its name, else that of its only report.
        lanes: indices (into Analysis.lanes) of its lanes.
        compute_ns, own_ns: compute, and the step without exposed communication, as medians over steps and lanes; None
            without steps that others have as well.
        own_ratio: own time of its fastest lane to that of the median lane of the other hosts, as a median over steps:
            what the machine adds, whatever one of its GPUs adds; None likewise.
        slow_steps: in how many steps that is over 1.1, of how many.
        caused_wait_ns: what all lanes waited for its lanes in collectives, behind no compute, summed.
        transfer_ratio: how long its transfers to some other hosts take, to those between hosts without it; None where
            there are none alike. Of several such groups it is the lowest.
        is_slow: all its lanes, two or more, are over in most steps.
        has_slow_nic: its transfers take twice as long with each of two groups of hosts, or more.
    """

    host: str
    lanes: tuple[int, ...]
    compute_ns: int | None
    own_ns: int | None
    own_ratio: float | None
    slow_steps: tuple[int, int]
    caused_wait_ns: int
    transfer_ratio: float | None
    is_slow: bool
    has_slow_nic: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class LaneSteps:
    """Every lane in every step that two lanes or more have: a row for each step, in it lane by lane.

    Attributes:
        numbers: of the steps.
        own_ns: the lane's step without exposed communication; None where the lane has no such step.
        wait_ns: of that communication, what it waited for others; None likewise.
        critical_lanes: by step, the lane that the others waited for longest; None where nobody waited.
        critical_wait_ns: by step, how long they waited for it, summed.
    """

    numbers: tuple[int, ...]
    own_ns: tuple[tuple[int | None, ...], ...]
    wait_ns: tuple[tuple[int | None, ...], ...]
    critical_lanes: tuple[int | None, ...]
    critical_wait_ns: tuple[int, ...]
