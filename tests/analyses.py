"""Hand-made `Analysis` values, one per situation a report must get right; their numbers add up by hand."""

from __future__ import annotations

from dataclasses import replace

from analysis_values import (
    ALL_REDUCE,
    CLOCK,
    GEMM,
    LAYER_NORM,
    MS,
    analysis,
    budget,
    hole,
    host_steps,
    lane,
    steps_of,
    total,
    training_process,
)
from job_analyses import several_hosts

from gapfinder.budget import Window
from gapfinder.explanations import (
    Buckets,
    Cause,
    CollectiveSummary,
    Evidence,
    Finding,
    KernelTotal,
    Severity,
    StepCommunication,
)
from gapfinder.links import Link, LinkSource
from gapfinder.model import Analysis, DecidedName, Step
from gapfinder.processes import Phase, SlowRank
from gapfinder.stragglers import SlowBy, StepSpread, Straggler

HOSTILE = "void k<float>(\x1b[2J\x1b]0;owned\x07 \r\n| `a` *b* _c_ <img src=x onerror=alert(1)> \u202e \udcff & \"q\" '' \x9b1m)"
HOSTILE_SHOWN = (
    r"void k<float>(\x1b[2J\x1b]0;owned\x07 \r\n| `a` *b* _c_ <img src=x onerror=alert(1)> \u202e \udcff & "
    r""""q" '' \x9b1m)"""
)
"""HOSTILE as a report for people shows it: what does not print is spelled out."""


def healthy() -> Analysis:
    """Two ranks, three steps each; rank 1 waits in its last step."""
    even = budget(compute=60 * MS, hidden=20 * MS, exposed=10 * MS, copies=2 * MS, idle=8 * MS)
    late = budget(compute=60 * MS, hidden=10 * MS, exposed=30 * MS, copies=2 * MS, idle=8 * MS)
    first = lane(
        budget(compute=180 * MS, hidden=60 * MS, exposed=30 * MS, copies=6 * MS, idle=24 * MS),
        rank=0,
        overlap_ratio=2 / 3,
        gaps=(4 * MS, 2 * MS),
        holes=(
            hole(90 * MS, exposed=8 * MS, idle=4 * MS, cause=Cause.EXPOSED_COMMUNICATION, before=GEMM, after=GEMM),
            hole(0, copies=2 * MS, idle=1 * MS, cause=Cause.COPY, before=None, after=GEMM),
        ),
        steps=steps_of([even, even, even], mean=100 * MS, p50=100 * MS, p99=100 * MS),
    )
    second = lane(
        budget(compute=180 * MS, hidden=50 * MS, exposed=50 * MS, copies=6 * MS, idle=24 * MS),
        rank=1,
        pid=4_712,
        device=1,
        overlap_ratio=0.5,
        gaps=(5_250_000,),
        holes=(
            hole(280 * MS, exposed=24 * MS, cause=Cause.EXPOSED_COMMUNICATION, after=LAYER_NORM),
            hole(170 * MS, idle=5_250_000, cause=Cause.UNKNOWN, after=None),
        ),
        steps=steps_of([even, even, late], mean=103_333_333, p50=100 * MS, p99=109_800_000),
    )
    return analysis(
        first,
        second,
        total=total(
            2,
            budget(compute=360 * MS, hidden=110 * MS, exposed=80 * MS, copies=12 * MS, idle=48 * MS),
            ratio=110 / 190,
            worst=1,
        ),
        names=(
            DecidedName(name=ALL_REDUCE, pattern="(?<![a-z])nccl", is_communication=True, share=0.345),
            DecidedName(name="moe_dispatch(float*)", pattern=None, is_communication=False, share=0.021),
        ),
    )


def explained() -> Analysis:
    """Two ranks that say why: evidence of every kind, a collective with its bill, a straggler, findings."""
    waited = hole(
        100 * MS,
        exposed=11 * MS,
        idle=1 * MS,
        cause=Cause.EXPOSED_WAIT,
        evidence=Evidence(
            shares={Cause.EXPOSED_WAIT: 7 * MS, Cause.EXPOSED_TRANSFER: 4 * MS, Cause.LAUNCH_BOUND: 1 * MS},
            operation="AllReduce",
            wait_ns=7 * MS,
            transfer_ns=4 * MS,
            late_lane=1,
            launch_delay_ns=800_000,
        ),
    )
    loaded = hole(
        10 * MS,
        idle=13 * MS,
        cause=Cause.DATA_LOADING,
        evidence=Evidence(
            shares={Cause.DATA_LOADING: 13 * MS},
            call="poll",
            call_ns=12 * MS,
            nvtx="data loading",
            launch_delay_ns=13 * MS,
        ),
    )
    copied = hole(
        50 * MS,
        copies=2 * MS,
        cause=Cause.HOST_TO_DEVICE_COPY,
        evidence=Evidence(
            shares={Cause.HOST_TO_DEVICE_COPY: 2 * MS}, copied_bytes=8_000_000, copy_bandwidth=4e9, is_pageable=True
        ),
    )
    spent = budget(compute=68 * MS, hidden=6 * MS, exposed=11 * MS, copies=2 * MS, idle=13 * MS)
    first = lane(spent, rank=0, overlap_ratio=6 / 17, holes=(loaded, waited, copied))
    first = replace(
        first, causes={Cause.DATA_LOADING: 13 * MS, **waited.evidence.shares, Cause.HOST_TO_DEVICE_COPY: 2 * MS}
    )
    quick = budget(compute=90 * MS, hidden=10 * MS)
    second = lane(quick, rank=1, pid=4_712, device=1, overlap_ratio=1.0)
    both = budget(compute=158 * MS, hidden=16 * MS, exposed=11 * MS, copies=2 * MS, idle=13 * MS)
    made = analysis(first, second, total=total(2, both, ratio=16 / 27, worst=0))
    return replace(
        made,
        link=Link(bandwidth=50e9, source=LinkSource.GIVEN, reason="given by --link-bandwidth"),
        collectives=(_all_reduce("0x7f01", exposed_ns=11 * MS), _all_reduce("0x7f02", exposed_ns=0)),
        collective_steps=(
            StepCommunication(
                number=3,
                lanes=2,
                instances=6,
                communication_ns=27 * MS,
                hidden_ns=16 * MS,
                exposed_ns=11 * MS,
                wait_ns=7 * MS,
                transfer_ns=20 * MS,
                overlap_ratio=16 / 27,
            ),
        ),
        buckets=(
            Buckets(
                lane=0,
                per_step=3.0,
                start_into_backward=0.4,
                after_backward_ns=2 * MS,
                backward_ns=24 * MS,
                median_ns=4 * MS,
                micro_steps=1,
            ),
        ),
        kernels=(
            KernelTotal(name=GEMM, is_communication=False, count=480, total_ns=140 * MS),
            KernelTotal(name=ALL_REDUCE, is_communication=True, count=12, total_ns=34 * MS),
        ),
        step_spreads=(
            StepSpread(
                number=3,
                lanes=2,
                slowest_lane=1,
                slowest_own_ns=24 * MS,
                median_own_ns=22 * MS,
                slowest_compute_ns=21 * MS,
                median_compute_ns=19 * MS,
                longest_ns=25 * MS,
                median_ns=25 * MS,
            ),
        ),
        stragglers=(
            Straggler(
                lane=1,
                steps=(4, 5),
                compute_ratio=1.3,
                launch_delay_ns=120_000,
                data_ratio=None,
                what_differs=SlowBy.COMPUTE,
                lost_ns=7 * MS,
            ),
        ),
        findings=(
            _finding(Severity.WARNING, "data-starved", "The GPU waits for data", 13 * MS),
            _finding(Severity.CRITICAL, "straggler", "Rank 1 is slower than the others, which wait", 7 * MS, lane=1),
            _finding(Severity.INFO, "pageable-copies", "The GPU waits for copies from pageable memory", 2 * MS),
            _finding(Severity.INFO, "capture-quality", "The capture is not as good as it could be", 0),
        ),
    )


def _all_reduce(communicator: str, *, exposed_ns: int) -> CollectiveSummary:
    return CollectiveSummary(
        operation="AllReduce",
        communicator=communicator,
        instances=6,
        unmatched=1,
        lanes=(0, 1),
        per_step=3.0,
        bytes_total=6 * 50_000_000,
        total_ns=34 * MS,
        hidden_ns=34 * MS - exposed_ns,
        exposed_ns=exposed_ns,
        wait_ns=7 * MS,
        transfer_ns=27 * MS,
        algorithm_bandwidth=22.2e9,
        bus_bandwidth=22.2e9,
        ideal_ns=9 * MS,
        late_lane=1,
        late_share=0.75,
        ideal_share=0.45,
        own_share=0.9,
    )


def _finding(severity: Severity, code: str, title: str, lost_ns: int, *, lane: int | None = None) -> Finding:
    return Finding(
        code=code,
        severity=severity,
        title=title,
        detail=f"Detail of {code}.",
        advice=f"Change what {code} says.",
        lost_ns=lost_ns,
        share=lost_ns / (200 * MS),
        lane=lane,
    )


def nothing() -> Analysis:
    """No GPU operation at all."""
    return analysis(notes=("no GPU operation was captured: train.sqlite holds 1 CUDA API call and no kernel or copy",))


def host_only() -> Analysis:
    """Three ranks of four without GPU work: rank 1 is slow in forward, rank 2 has no complete step."""
    quick = host_steps({Phase.DATA_LOADING: 12, Phase.FORWARD: 6, Phase.BACKWARD: 20, Phase.OTHER: 2})
    slow = host_steps({Phase.DATA_LOADING: 12, Phase.FORWARD: 20, Phase.BACKWARD: 6, Phase.OTHER: 2}, micro_steps=2)
    made = analysis(notes=("no GPU operation that takes time was captured", "nothing of rank 3 in this report"))
    reason = "no step is complete inside the window"
    return replace(
        made,
        processes=(
            training_process(0, quick),
            training_process(1, slow),
            replace(training_process(2, None), steps_reason=reason, host="node-b.cluster.example"),
        ),
        slow_ranks=(
            SlowRank(process=1, steps=(3, 3), own_ratio=1.7, phase=Phase.FORWARD, phase_ns=14 * MS, lost_ns=42 * MS),
        ),
        findings=(
            _finding(
                Severity.CRITICAL, "slow-rank", "Rank 1 is slower on the host than the others, which wait", 42 * MS
            ),
        ),
        world_size=4,
    )


def no_communication() -> Analysis:
    """One GPU that only computes and copies."""
    reason = "no communication operation ran"
    spent = budget(compute=700 * MS, copies=100 * MS, idle=200 * MS)
    only = lane(spent, overlap_reason=reason, gaps=(50 * MS,), dropped_ops=1_000)
    return analysis(only, total=total(1, spent, reason=reason))


def graphs() -> Analysis:
    """CUDA graphs traced whole: communication may sit inside, so overlap is unknown."""
    reason = "communication may run inside CUDA graphs that were traced whole"
    spent = budget(compute=10 * MS, graph=980 * MS, idle=10 * MS)
    only = lane(spent, overlap_reason=reason, gaps=(2 * MS,))
    return analysis(only, total=total(1, spent, reason=reason), graphs=True)


def idle_unknown() -> Analysis:
    """Graph launches without graph rows: what looks idle may be busy."""
    idle = "CUDA graphs were launched, but the export holds no graph rows"
    overlap = "communication may run inside CUDA graphs that are not in the export"
    spent = budget(compute=1 * MS, idle=999 * MS)
    steps = steps_of([budget(compute=1 * MS, idle=499 * MS)], mean=500 * MS, p50=500 * MS, p99=500 * MS)
    only = lane(
        spent,
        idle_reason=idle,
        overlap_reason=overlap,
        gaps=(900 * MS,),
        holes=(hole(0, idle=900 * MS, cause=Cause.UNKNOWN),),
        steps=steps,
    )
    return analysis(
        only, total=total(1, spent, reason=overlap, idle_reason=idle), notes=(f"idle time not measured: {idle}",)
    )


def one_stream() -> Analysis:
    """Compute and communication on one stream: the zero is structural."""
    spent = budget(compute=50 * MS, exposed=40 * MS, idle=10 * MS)
    reason = "communication and compute ran on one stream, so they cannot overlap"
    lanes = [lane(spent, pid=pid, overlap_ratio=0.0, overlap_reason=reason) for pid in (100, 101)]
    both = budget(compute=100 * MS, exposed=80 * MS, idle=20 * MS)
    return analysis(*lanes, total=total(2, both, ratio=0.0, worst=0))


def hostile() -> Analysis:
    """Markup, terminal control, line breaks and unpaired surrogates in every text that comes from a file."""
    spent = budget(compute=60 * MS, hidden=20 * MS, exposed=10 * MS, idle=10 * MS)
    steps = replace(
        steps_of([spent], mean=100 * MS, p50=100 * MS, p99=100 * MS),
        items=(
            Step(
                name=HOSTILE,
                number=1,
                window=Window(start_ns=CLOCK, end_ns=CLOCK + 100 * MS),
                budget=spent,
                overlap_ratio=2 / 3,
            ),
        ),
    )
    seen = Evidence(
        shares={Cause.OS_CALL: 9 * MS},
        call=HOSTILE,
        call_ns=9 * MS,
        nvtx=HOSTILE,
        operation=HOSTILE,
        transfer_ns=1 * MS,
    )
    lanes = [
        lane(
            spent,
            pid=pid,
            file=HOSTILE + str(pid),
            gpu_name=HOSTILE,
            overlap_ratio=2 / 3,
            holes=(hole(0, exposed=9 * MS, cause=Cause.OS_CALL, before=HOSTILE, after=HOSTILE, evidence=seen),),
            steps=steps,
        )
        for pid in (1, 2)
    ]
    both = budget(compute=120 * MS, hidden=40 * MS, exposed=20 * MS, idle=20 * MS)
    made = analysis(
        *lanes,
        total=total(2, both, ratio=2 / 3, worst=0),
        notes=(f"note about {HOSTILE}",),
        names=(DecidedName(name=HOSTILE, pattern=HOSTILE, is_communication=True, share=0.5),),
        files=(HOSTILE + "1", HOSTILE + "2"),
    )
    return replace(
        made,
        collectives=(replace(_all_reduce(HOSTILE, exposed_ns=MS), operation=HOSTILE),),
        processes=tuple(
            replace(
                training_process(rank, host_steps({Phase.FORWARD: 10, Phase.BACKWARD: 20}, name=HOSTILE)),
                file=HOSTILE,
                rank=None,
                host=f"{rank}{HOSTILE}",
            )
            for rank in (0, 1)
        ),
        findings=tuple(_finding(severity, HOSTILE, HOSTILE, 10 * MS) for severity in Severity),
    )


def shared_gpu() -> Analysis:
    """Two processes on one physical GPU."""
    reason = "no communication operation ran"
    spent = budget(compute=30 * MS, idle=70 * MS)
    lanes = [
        lane(spent, pid=200 + index, shares_gpu_with=(1 - index,), overlap_reason=reason, gaps=(60 * MS,))
        for index in (0, 1)
    ]
    return analysis(*lanes, total=total(2, budget(compute=60 * MS, idle=140 * MS), reason=reason))


def many_lanes() -> Analysis:
    """300 ranks with 60 steps each; the last hides nothing, though it computes as much as the others."""
    step = budget(compute=6 * MS, hidden=2 * MS, exposed=1 * MS, idle=1 * MS)
    bad_step = budget(compute=8 * MS, exposed=1 * MS, idle=1 * MS)
    spent = budget(compute=360 * MS, hidden=120 * MS, exposed=60 * MS, idle=60 * MS)
    bad = budget(compute=480 * MS, exposed=60 * MS, idle=60 * MS)
    steps = steps_of([step] * 60, mean=10 * MS, p50=10 * MS, p99=10 * MS)
    bad_steps = steps_of([bad_step] * 60, mean=10 * MS, p50=10 * MS, p99=10 * MS)
    holes = tuple(hole(10 * MS * n, exposed=1 * MS, cause=Cause.EXPOSED_COMMUNICATION) for n in range(10))
    lanes = [
        lane(
            bad if rank == 299 else spent,
            rank=rank,
            pid=1_000 + rank,
            device=rank % 8,
            file=f"job_{rank // 8}.sqlite",
            overlap_ratio=0.0 if rank == 299 else 2 / 3,
            holes=holes,
            steps=bad_steps if rank == 299 else steps,
        )
        for rank in range(300)
    ]
    sums = budget(compute=(299 * 360 + 480) * MS, hidden=299 * 120 * MS, exposed=300 * 60 * MS, idle=300 * 60 * MS)
    ratio = 299 * 120 / (299 * 180 + 60)
    files = tuple(f"job_{number}.sqlite" for number in range(38))
    return analysis(*lanes, total=total(300, sums, ratio=ratio, worst=299), files=files)


SITUATIONS = {
    case.__name__: case
    for case in (
        healthy,
        explained,
        nothing,
        host_only,
        no_communication,
        graphs,
        idle_unknown,
        one_stream,
        hostile,
        shared_gpu,
        many_lanes,
        several_hosts,
    )
}
