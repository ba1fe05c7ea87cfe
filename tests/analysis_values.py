"""Short ways to write `Analysis` values by hand; a window is the sum of its parts, a total is given by the caller."""

from __future__ import annotations

from dataclasses import fields
from itertools import accumulate

from gapfinder.budget import Budget, Window
from gapfinder.explanations import Cause, Evidence, HostActivity
from gapfinder.model import Analysis, Coverage, DecidedName, Gaps, Hole, Holes, Lane, Source, Step, Steps, Total
from gapfinder.processes import HostStep, HostSteps, Phase, TrainingProcess

MS = 1_000_000
CLOCK = 60_000 * MS
ALL_REDUCE = "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<(unsigned long)4096>)"
GEMM = "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_256x128>(cutlass::Params)"
LAYER_NORM = "void layer_norm<float, 4>(float const*, float*)"


def budget(
    *, compute: int = 0, hidden: int = 0, exposed: int = 0, copies: int = 0, graph: int = 0, idle: int = 0
) -> Budget:
    """Return a budget whose window is the sum of its parts (ns)."""
    return Budget(
        window_ns=compute + hidden + exposed + copies + graph + idle,
        compute_only_ns=compute,
        hidden_ns=hidden,
        exposed_ns=exposed,
        copy_only_ns=copies,
        graph_only_ns=graph,
        idle_ns=idle,
    )


def lane(
    spent: Budget,
    *,
    rank: int | None = None,
    pid: int = 4_711,
    device: int = 0,
    file: str = "train.sqlite",
    gpu_name: str | None = "NVIDIA H100 80GB HBM3",
    shares_gpu_with: tuple[int, ...] = (),
    holes: tuple[Hole, ...] = (),
    gaps: tuple[int, ...] = (),
    steps: Steps | None = None,
    idle_reason: str | None = None,
    overlap_reason: str | None = None,
    overlap_ratio: float | None = None,
    **others: int,
) -> Lane:
    """Return a lane that starts at CLOCK; `gaps` are lengths of idle intervals."""
    causes: dict[Cause, int] = {}
    for hole in holes:
        causes[hole.cause] = causes.get(hole.cause, 0) + hole.duration_ns
    return Lane(
        file=file,
        pid=pid,
        device=device,
        rank=rank,
        gpu_name=gpu_name,
        shares_gpu_with=shares_gpu_with,
        window=Window(start_ns=CLOCK, end_ns=CLOCK + spent.window_ns),
        kernels=others.get("kernels", 1_200),
        ops=others.get("ops", 1_234),
        dropped_ops=others.get("dropped_ops", 0),
        budget=spent,
        idle_reason=idle_reason,
        overlap_ratio=overlap_ratio,
        overlap_reason=overlap_reason,
        peer_copy_ns=others.get("peer_copy_ns", 0),
        gaps=Gaps(min_gap_ns=100_000, count=len(gaps), total_ns=sum(gaps), longest_ns=max(gaps, default=0)),
        holes=Holes(min_gap_ns=100_000, count=len(holes), total_ns=sum(hole.duration_ns for hole in holes), top=holes),
        causes=causes,
        host=HostActivity(),
        steps=steps,
        steps_reason=None if steps else "no NVTX range matched the step pattern",
    )


def hole(
    start: int,
    *,
    idle: int = 0,
    exposed: int = 0,
    copies: int = 0,
    cause: Cause,
    before: str | None = GEMM,
    after: str | None = GEMM,
    evidence: Evidence | None = None,
) -> Hole:
    """Return a hole that starts `start` ns after CLOCK and is as long as its parts."""
    return Hole(
        start_ns=CLOCK + start,
        end_ns=CLOCK + start + idle + exposed + copies,
        idle_ns=idle,
        exposed_ns=exposed,
        copy_only_ns=copies,
        cause=cause,
        evidence=evidence or Evidence(shares={cause: idle + exposed + copies}),
        before=before,
        after=after,
    )


def steps_of(budgets: list[Budget], *, dropped: int = 1, mean: int, p50: int, p99: int, name: str = "step {}") -> Steps:
    """Return steps that follow one another from CLOCK on."""
    ends = list(accumulate(spent.window_ns for spent in budgets))
    items = tuple(
        Step(
            name=name.format(number),
            number=number,
            window=Window(start_ns=CLOCK + end - spent.window_ns, end_ns=CLOCK + end),
            budget=spent,
            overlap_ratio=spent.hidden_ns / spent.communication_ns if spent.communication_ns else None,
        )
        for number, (spent, end) in enumerate(zip(budgets, ends, strict=True), start=1)
    )
    summed = Budget(**{part.name: sum(getattr(spent, part.name) for spent in budgets) for part in fields(Budget)})
    return Steps(items=items, total=summed, dropped=dropped, mean_ns=mean, p50_ns=p50, p99_ns=p99)


def host_steps(spent: dict[Phase, int], *, count: int = 3, micro_steps: int = 1, name: str = "step {}") -> HostSteps:
    """Return equal steps on the host that follow one another from CLOCK on; `spent` is in ms."""
    phases = {phase: spent.get(phase, 0) * MS for phase in Phase}
    length = sum(phases.values())
    items = tuple(
        HostStep(
            name=name.replace("{}", str(number)),
            number=number,
            start_ns=CLOCK + number * length,
            end_ns=CLOCK + (number + 1) * length,
            micro_steps=micro_steps,
            phases=phases,
        )
        for number in range(1, count + 1)
    )
    sums = {phase: ns * count for phase, ns in phases.items()}
    return HostSteps(items=items, dropped=1, mean_ns=length, p50_ns=length, p99_ns=length, phases=sums)


def training_process(rank: int, steps: HostSteps | None) -> TrainingProcess:
    """Return a rank of a job of four on one host, without a lane."""
    return TrainingProcess(
        file="train.sqlite",
        pid=4_711 + rank,
        rank=rank,
        local_rank=rank,
        world_size=4,
        host="node-a",
        lanes=(),
        steps=steps,
        steps_reason=None if steps else "no NVTX ranges were captured",
    )


def analysis(
    *lanes: Lane,
    total: Total | None = None,
    notes: tuple[str, ...] = (),
    names: tuple[DecidedName, ...] = (),
    graphs: bool = False,
    files: tuple[str, ...] = ("train.sqlite",),
) -> Analysis:
    """Return an analysis of lanes; the total is given by the caller, who adds up by hand."""
    return Analysis(
        source=Source(files=files, nsys_version="2026.2.1.210", export_schema_version="3.27.0"),
        lanes=lanes,
        total=total,
        coverage=Coverage(
            kernels=bool(lanes), copies=True, graphs=graphs, nvtx=True, runtime=True, osrt=False, notes=notes
        ),
        decided_names=names,
    )


def total(
    lanes: int,
    spent: Budget,
    *,
    ratio: float | None = None,
    reason: str | None = None,
    worst: int | None = None,
    idle_reason: str | None = None,
) -> Total:
    """Return a total."""
    return Total(
        lanes=lanes,
        budget=spent,
        idle_reason=idle_reason,
        overlap_ratio=ratio,
        overlap_reason=reason,
        worst_lane=worst,
    )
