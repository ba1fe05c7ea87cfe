"""device-wait: work was queued in time, and the GPU waited for something on the GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.explanations import Cause
from gapfinder.findings.lost import amount, finding, lost_by_lane, mostly_of
from gapfinder.findings.page import Page

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="device-wait",
    title="The GPU waits for events or streams",
    meaning=(
        "The next kernel had been launched before the blank began, so the host was in time: the kernel waited for an"
        " event, for another stream, for a peer, or for the plain latency between two launches."
    ),
    measured="Idle hole time whose ending operation was launched before the hole began.",
    change=(
        ("Remove waits between streams that no data needs (stream.wait_stream, event.wait, record_stream patterns)."),
        (
            "See whether CUDA_DEVICE_MAX_CONNECTIONS is set below its default of 8, as some frameworks do to order "
            "their launches: streams that share a connection hold each other up (32 are the most)."
        ),
        ("See whether other processes share the GPU (nvidia-smi): their work is not in this process's report."),
    ),
    beware="that a few µs after each dependent kernel are avoidable: that is what a dependency costs.",
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where the device itself waited."""
    lost = lost_by_lane(analysis, Cause.DEVICE_WAIT)
    total = sum(lost.values())
    return finding(
        analysis,
        PAGE,
        lost_ns=total,
        detail=f"{amount(analysis, total)} although the next work was queued.",
        lane=mostly_of(analysis, lost),
    )
