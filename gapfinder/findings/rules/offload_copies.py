"""offload-copies: states or activations are moved to the host, and the GPU waits."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.findings.copied import copy_bill
from gapfinder.findings.lost import amount, finding, mostly_of
from gapfinder.findings.page import Page
from gapfinder.units import format_bytes

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis

PAGE = Page(
    code="offload-copies",
    title="The GPU waits for offloading to host memory",
    meaning=(
        "Optimizer states, parameters or activations live in host memory and cross PCIe in every step, and the "
        "optimizer may run on the CPU. It saves GPU memory and makes steps longer."
    ),
    measured=(
        "Hole time in copies that are not pageable host-to-device ones, on lanes that copy 64 MiB or more to the "
        "host in a step, on average and the first step left out. Without steps it is exposed-copies."
    ),
    change=(
        (
            "Turn offloading off if memory allows (DeepSpeed: offload_optimizer, offload_param; FSDP: cpu_offload), "
            "or first save memory with activation checkpointing or a higher ZeRO stage."
        ),
        "Offload less: DeepSpeed's ratio in offload_optimizer, pin_memory true, overlap_comm true.",
        "Check the PCIe link: nvidia-smi -q -d PCI shows its current and maximum width and generation.",
    ),
    beware="that the copy to the host of a checkpoint is offloading: see checkpoint-pause.",
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where offloading leaves holes."""
    lost = copy_bill(analysis).get(PAGE.code, {})
    total = sum(lost.values())
    moved = sum(analysis.lanes[index].host.offload_bytes for index in lost)
    return finding(
        analysis,
        PAGE,
        lost_ns=total,
        detail=f"{amount(analysis, total)}; {format_bytes(moved)} were copied to the host.",
        lane=mostly_of(analysis, lost),
    )
