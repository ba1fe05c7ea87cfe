"""slow-link: collectives move their bytes far below what the link can do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.findings.exposed import exposed_bill, slow_nic_of, transfer_weight
from gapfinder.findings.lost import amount, finding
from gapfinder.findings.page import Page
from gapfinder.findings.speeds import Speeds, Yardstick
from gapfinder.findings.words import lane_names
from gapfinder.units import format_bandwidth, format_share

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="slow-link",
    title="Collectives run far below the bandwidth of the link",
    meaning=(
        "The transfer part of a collective takes more than twice its ideal time, or its bus bandwidth is less than "
        "half of what the same operation reaches between as many lanes elsewhere, or mostly less than half of its own "
        "best: a link that negotiated down, traffic over sockets or PCIe instead of InfiniBand or NVLink, another job "
        "on the same network, or messages too small to fill it."
    ),
    measured=(
        "Waiting for late lanes is taken out first. Needs the bytes of each collective, which NCCL's NVTX payloads "
        "carry (nsys --trace=nvtx). The ideal is that of --link-bandwidth, else of what the GPUs' datasheets promise "
        "inside one host: of that a quarter is enough. Ideal times under 50 µs are not judged. Its own best is the "
        "fastest tenth of 20 or more instances that are alike in size within a factor of two, and mostly means the "
        "median of them. Lost is the exposed transfer beyond what is possible."
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
        "too. An ideal from a datasheet is a promise: PCIe switches, missing bridges and fewer lanes lower it."
    ),
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where an operation is far below what is possible."""
    lost = exposed_bill(analysis).get(PAGE.code, 0)
    if not lost:
        return None
    speeds = Speeds(analysis)
    held = [(one, speeds.slowness(one)) for one in analysis.collectives if slow_nic_of(analysis, one) is None]
    slow = [(one, slowness) for one, slowness in held if slowness is not None]
    worst, slowness = max(slow, key=lambda item: transfer_weight(item[0]) * (1 - item[1].share))
    words = f"{worst.operation} between {lane_names(analysis, worst.lanes)}"
    if worst.bus_bandwidth is not None:
        words += f" reaches {format_bandwidth(worst.bus_bandwidth)} of bus bandwidth"
    share = format_share(slowness.share)
    match slowness.against:
        case Yardstick.IDEAL:
            words += f", {share} of the ideal{_of_link(analysis)}"
        case Yardstick.ELSEWHERE:
            words += f"; elsewhere {format_bandwidth(speeds.elsewhere(worst) or 0)}"
        case Yardstick.OWN_BEST:
            words += f", mostly {share} of its own fastest tenth"
    detail = f"{amount(analysis, lost)} beyond what is possible: {words}."
    return finding(analysis, PAGE, lost_ns=lost, detail=detail)


def _of_link(analysis: Analysis) -> str:
    """Return what the ideal rests on where nobody told the link."""
    link = analysis.link
    return f" ({link.reason})" if link is not None and link.is_detected else ""
