"""straggler: one lane is slower than the others in most steps, and all wait for it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.findings.exposed import exposed_bill, lone_stragglers
from gapfinder.findings.lost import amount, finding
from gapfinder.findings.page import Page
from gapfinder.findings.words import capitalised, lane_name, subject
from gapfinder.stragglers import SlowBy
from gapfinder.units import format_duration, format_times

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.model import Analysis
    from gapfinder.stragglers import Straggler

PAGE = Page(
    code="straggler",
    title="One lane is slower than the others",
    meaning=(
        "A lane is 20 % over the median in most steps. Every collective ends when the last lane has come, so all "
        "others wait for it in each step."
    ),
    measured=(
        "Own time, the step without exposed communication, of each lane and step against the median over lanes; what "
        "differs is the largest of compute time, launches and data loading. Where nsys sampled GPU metrics "
        "(--gpu-metrics-devices), longer compute is put down to clocks if its clock is 5 % or more under the median "
        "and explains half of it. Lost is what the other lanes waited inside their collectives. Needs two lanes or "
        "more. Where all lanes of a host are slow, it is slow-node."
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
    names = [lane_name(analysis, straggler.lane) for straggler in stragglers]
    return finding(
        analysis,
        PAGE,
        lost_ns=lost,
        title=capitalised(f"{subject(names)} slower than the others, which wait"),
        detail=f"{amount(analysis, lost)}: {'; '.join(_described(analysis, one) for one in stragglers)}.",
        lane=worst.lane,
        always=True,
    )


def _described(analysis: Analysis, one: Straggler) -> str:
    slow, steps = one.steps
    computes = f"its compute takes {format_times(one.compute_ratio)} the median"
    words = {
        SlowBy.COMPUTE: computes,
        SlowBy.CLOCKS: f"{computes}, at {format_times(one.clock_ratio or 1)} the median clock",
        SlowBy.DATA_LOADING: f"its data loading takes {format_times(one.data_ratio or 1)} the median",
        SlowBy.LAUNCHES: _launches(one),
        SlowBy.UNKNOWN: "nothing that was captured differs as much",
    }
    return f"{lane_name(analysis, one.lane)} is slow in {slow} of {steps} steps: {words[one.what_differs]}"


def _launches(one: Straggler) -> str:
    """Return how launches differ: the first of a step comes later, or there are longer waits for those after it."""
    if one.launch_delay_ns > 0:
        return f"it launches {format_duration(one.launch_delay_ns)} later than the median"
    return "its GPU is idle longer than the median, though its steps begin no later"
