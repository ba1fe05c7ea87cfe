"""straggler: one lane is slower than the others in most steps, and all wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.findings.exposed import exposed_bill, lone_stragglers
from gapfinder.findings.lost import amount, finding
from gapfinder.findings.page import Page
from gapfinder.findings.words import lane_name, listed
from gapfinder.units import format_duration

if TYPE_CHECKING:
    from gapfinder.explanations import Finding, Straggler
    from gapfinder.model import Analysis

PAGE = Page(
    code="straggler",
    title="One lane is slower than the others",
    meaning=(
        "A lane is 20 % over the median in most steps. Every collective ends when the last lane has come, so all "
        "others wait for it in each step."
    ),
    measured=(
        "Work time of each lane and step against the median over lanes; what differs is the largest of compute time,"
        " launches and data loading. Where nsys sampled GPU metrics (--gpu-metrics-devices), longer compute is put "
        "down to clocks if its clock is 5 % or more under the median and explains half of it. Lost is what the other "
        "lanes waited inside their collectives. Needs two lanes or more. Where all lanes of a host are slow, it is "
        "slow-node."
    ),
    change=(
        (
            "Look at that card: nvidia-smi dmon -s pucvmet (clocks, throttling, temperature), nvidia-smi topo -m and"
            " the PCIe link width; then at its neighbours on the machine."
        ),
        (
            "Bind each process to the NUMA node of its GPU (numactl, or torchrun's --numa-binding where your version"
            " has it)."
        ),
        (
            "Where its compute is longer at equal clocks, give it the same amount of work: split layers, experts or "
            "tokens evenly."
        ),
        (
            "Where it starts late, look at its data loader and at what only that rank does (logging, checkpoint, "
            "evaluation)."
        ),
    ),
    beware=("that this lane waits: a straggler hides its own communication best and its own report looks healthy."),
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where a lane is the slowest in most steps and others wait for it."""
    lost = exposed_bill(analysis).get(PAGE.code, 0)
    if not lost:
        return None
    stragglers = lone_stragglers(analysis)
    worst = max(stragglers, key=lambda straggler: straggler.lost_ns)
    names = listed([lane_name(analysis, straggler.lane) for straggler in stragglers])
    verb = "is" if len(stragglers) == 1 else "are"
    return finding(
        analysis,
        PAGE,
        lost_ns=lost,
        title=f"{names[0].upper()}{names[1:]} {verb} slower than the others, which wait",
        detail=f"{amount(analysis, lost)}: {'; '.join(_described(analysis, one) for one in stragglers)}.",
        lane=worst.lane,
        always=True,
    )


def _described(analysis: Analysis, one: Straggler) -> str:
    slow, steps = one.steps
    words = {
        "compute": f"its compute takes {one.compute_ratio:.2f} times the median",
        "clocks": f"its compute takes {one.compute_ratio:.2f} times the median, at {one.clock_ratio or 1:.2f} times "
        "the median clock",
        "data loading": f"its data loading takes {one.data_ratio or 1:.2f} times the median",
        "launches": f"it launches {format_duration(one.launch_delay_ns)} later than the median",
    }
    differs = words.get(one.what_differs, "what differs was not captured")
    return f"{lane_name(analysis, one.lane)} is slow in {slow} of {steps} steps: {differs}"
