"""slow-link: collectives move their bytes far below what the link can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.findings.exposed import exposed_bill
from gapfinder.findings.lost import amount, finding
from gapfinder.findings.page import Page
from gapfinder.findings.speeds import Speeds, share_of_ideal
from gapfinder.findings.words import lane_names
from gapfinder.units import format_bandwidth, format_share

if TYPE_CHECKING:
    from gapfinder.explanations import CollectiveSummary, Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="slow-link",
    title="Collectives run far below the bandwidth of the link",
    meaning=(
        "The transfer part of a collective takes more than twice its ideal time, or its bus bandwidth is less than "
        "half of what the same operation reaches between as many lanes elsewhere: a link that negotiated down, "
        "traffic over sockets or PCIe instead of InfiniBand or NVLink, or messages too small to fill it."
    ),
    measured=(
        "Waiting for late lanes is taken out first. Needs the bytes of each collective, which NCCL's NVTX payloads "
        "carry (nsys --trace=nvtx). Lost is the exposed transfer beyond what is possible."
    ),
    change=(
        (
            "Run nccl-tests alone on the same GPUs (all_reduce_perf -b 8 -e 1G -f 2) and compare its busbw with the "
            "number here."
        ),
        "Check the links: nvidia-smi topo -m, nvidia-smi nvlink -s, ibstat, ethtool DEVICE (speed).",
        (
            "Run once with NCCL_DEBUG=INFO and read which transport and interface NCCL chose; name the right one "
            "with NCCL_IB_HCA or NCCL_SOCKET_IFNAME, and see that NCCL_P2P_DISABLE and NCCL_IB_DISABLE are not set."
        ),
    ),
    beware=(
        "that the hardware is broken: small messages and NCCL's kernels sharing the GPU with compute cost bandwidth "
        "too."
    ),
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where an operation is far below its ideal."""
    lost = exposed_bill(analysis).get(PAGE.code, 0)
    speeds = Speeds(analysis.collectives)
    slow = [one for one in analysis.collectives if speeds.is_slow(one)]
    if not slow:
        return None
    worst = max(slow, key=lambda one: one.exposed_ns)
    detail = (
        f"{amount(analysis, lost)} beyond what is possible: {_compared(analysis, worst, best=speeds.elsewhere(worst))}."
    )
    return finding(analysis, PAGE, lost_ns=lost, detail=detail)


def _compared(analysis: Analysis, one: CollectiveSummary, *, best: float | None) -> str:
    words = f"{one.operation} between {lane_names(analysis, one.lanes)}"
    if one.bus_bandwidth is not None:
        words += f" reaches {format_bandwidth(one.bus_bandwidth)} of bus bandwidth"
    share = share_of_ideal(one)
    if share < 1:
        return f"{words}, {format_share(share)} of the ideal"
    return words if best is None else f"{words}; elsewhere {format_bandwidth(best)}"
