"""A hand-made `Analysis` of a job on several hosts; its numbers add up by hand."""

from __future__ import annotations

from dataclasses import replace

from analysis_values import MS, analysis, budget, lane, total

from gapfinder.explanations import Cause, Finding, Severity
from gapfinder.hosts import Host, HostClock, LaneSteps
from gapfinder.model import Analysis
from gapfinder.stragglers import SlowBy, Straggler

UTC = 1_772_443_812_345_678_901
QUICK = budget(compute=60 * MS, exposed=40 * MS)
SLOW = budget(compute=90 * MS, exposed=10 * MS)


def several_hosts() -> Analysis:
    """Three hosts of two ranks: node1 computes half as long again, node2's network is slow, node0 told no clock."""
    spent = (QUICK, QUICK, SLOW, SLOW, QUICK, QUICK)
    lanes = [
        replace(
            lane(part, rank=rank, file=f"rank_{rank}.sqlite", overlap_ratio=0.0),
            causes={Cause.EXPOSED_WAIT: 30 * MS if part is QUICK else 0},
        )
        for rank, part in enumerate(spent)
    ]
    made = analysis(*lanes, total=total(6, budget(compute=420 * MS, exposed=180 * MS), ratio=0.0, worst=0))
    return replace(
        made,
        clocks=(
            _clock("node0", (0, 1), offset_ns=0, drift_ppm=0.0, residual_ns=0, collectives=12),
            _clock("node1", (2, 3), offset_ns=-1_264_000, drift_ppm=-9.25, residual_ns=2_500, collectives=12),
            replace(_clock("node2", (4,)), offset_ns=4_200_000, residual_ns=3_134, collectives=8),
            replace(_clock("rank_5.sqlite", (5,)), reference=None, is_utc=False, at_utc_ns=None, offset_ns=None),
        ),
        hosts=(
            _host("node0", (0, 1), QUICK.compute_ns, own_ratio=1.0, transfer_ratio=0.25),
            replace(
                _host("node1", (2, 3), SLOW.compute_ns, own_ratio=1.5, transfer_ratio=None),
                slow_steps=(2, 2),
                caused_wait_ns=110 * MS,
                is_slow=True,
            ),
            replace(
                _host("node2", (4, 5), QUICK.compute_ns, own_ratio=1.0, transfer_ratio=4.0),
                caused_wait_ns=10 * MS,
                has_slow_nic=True,
            ),
        ),
        lane_steps=LaneSteps(
            numbers=(3, 4),
            own_ns=(
                (30 * MS, 30 * MS, 45 * MS, 45 * MS, 30 * MS, None),
                (30 * MS,) * 2 + (45 * MS,) * 2 + (30 * MS,) * 2,
            ),
            wait_ns=((15 * MS, 15 * MS, 0, 0, 15 * MS, None), (15 * MS, 15 * MS, 0, 0, 15 * MS, 15 * MS)),
            critical_lanes=(2, 3),
            critical_wait_ns=(45 * MS, 60 * MS),
        ),
        stragglers=(
            Straggler(
                lane=2,
                steps=(2, 2),
                compute_ratio=1.5,
                launch_delay_ns=0,
                data_ratio=None,
                what_differs=SlowBy.COMPUTE,
                lost_ns=110 * MS,
            ),
        ),
        findings=(
            Finding(
                code="slow-node",
                severity=Severity.CRITICAL,
                title="node1 is slower than the other hosts, which wait",
                detail="In 2 of 2 steps.",
                advice="Compare that host with a good one.",
                lost_ns=110 * MS,
                share=110 / 600,
            ),
        ),
    )


def _clock(
    host: str,
    lanes: tuple[int, ...],
    *,
    offset_ns: int = 0,
    drift_ppm: float | None = None,
    residual_ns: int | None = None,
    collectives: int = 0,
) -> HostClock:
    return HostClock(
        host=host,
        lanes=lanes,
        reference="node0",
        is_utc=True,
        at_utc_ns=UTC,
        offset_ns=offset_ns,
        drift_ppm=drift_ppm,
        residual_ns=residual_ns,
        collectives=collectives,
    )


def _host(
    name: str, lanes: tuple[int, ...], compute_ns: int, *, own_ratio: float, transfer_ratio: float | None
) -> Host:
    return Host(
        host=name,
        lanes=lanes,
        compute_ns=compute_ns // 2,
        own_ns=compute_ns // 2,
        own_ratio=own_ratio,
        slow_steps=(0, 2),
        caused_wait_ns=0,
        transfer_ratio=transfer_ratio,
        is_slow=False,
        has_slow_nic=False,
    )
