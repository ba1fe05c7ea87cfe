"""host-code: the launching thread made no CUDA call for long, and nothing that was captured says what it did."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Cause
from gapfinder.findings.lost import amount, finding, lost_by_lane, mostly_of, seen_in
from gapfinder.findings.page import Page

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="host-code",
    title="The GPU waits for code on the host that launches nothing",
    meaning=(
        "The launching thread made no CUDA call for more than 100 µs at a time and was in no call or range that says "
        "why: Python between two launches (metrics, logging, a loop over samples, a data loader without ranges), a "
        "library on the CPU, or a thread that got no core."
    ),
    measured=(
        "Hole time up to the next launch in which the launching thread was in no CUDA call, not between two calls less "
        "than 100 µs apart, and in nothing else that explains it. Many launches close together are launch-bound."
    ),
    change=(
        (
            "Capture again with `gapfinder run`, which marks the phases of a step by itself, or mark them with NVTX "
            "ranges (torch.cuda.nvtx.range) and capture with --trace=cuda,nvtx,osrt: the range then names the cause."
        ),
        "Move metrics, logging and Python loops out of the step, or into another process.",
        (
            "Sample the launching thread where no range tells: nsys profile --python-sampling=true, or py-spy record "
            "on the process."
        ),
        "Give each process its own cores (taskset, numactl) and set OMP_NUM_THREADS.",
    ),
    beware=(
        "that kernels are too small or launches too slow: a CUDA graph or torch.compile shortens launching, not this."
    ),
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where nothing explains what the host did."""
    lost = lost_by_lane(analysis, Cause.HOST_CODE)
    total = sum(lost.values())
    return finding(
        analysis,
        PAGE,
        lost_ns=total,
        detail=f"{amount(analysis, total)} without a launch{seen_in(analysis, Cause.HOST_CODE)}.",
        lane=mostly_of(analysis, lost),
    )
