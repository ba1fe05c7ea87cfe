"""single-stream: compute and communication were issued to one stream, which runs one thing after the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.findings.exposed import exposed_bill, is_single_stream
from gapfinder.findings.lost import amount, finding
from gapfinder.findings.page import Page
from gapfinder.findings.words import lane_names

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="single-stream",
    title="Communication runs on the stream of the compute",
    meaning=(
        "Compute and collectives share one CUDA stream. A stream runs one thing after the other, so nothing can be "
        "hidden, however early the collectives start."
    ),
    measured="All operations of a lane ran on one stream. Lost is the exposed transfer of these lanes in holes.",
    change=(
        (
            "Launch collectives on a stream of their own: let torch.distributed's NCCL process group do it, instead "
            "of calling NCCL on the current stream."
        ),
        (
            "In your own code use torch.cuda.Stream() for communication, with wait_stream() before it and before the"
            " first use of its result."
        ),
        "Do not set CUDA_LAUNCH_BLOCKING=1 or TORCH_NCCL_BLOCKING_WAIT=1 in production.",
    ),
    beware=("that everything would be hidden on two streams: what depends on a collective still has to wait for it."),
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where lanes have one stream for both."""
    lost = exposed_bill(analysis).get(PAGE.code, 0)
    lanes = [index for index, lane in enumerate(analysis.lanes) if is_single_stream(lane)]
    detail = f"{amount(analysis, lost)}: transfer that nothing could hide, on {lane_names(analysis, lanes)}."
    return finding(analysis, PAGE, lost_ns=lost, detail=detail)
