"""slow-node: all lanes of one host are slower than those of the others in most steps, and the job waits for them."""

from __future__ import annotations

from statistics import median
from typing import TYPE_CHECKING

from gapfinder.findings.exposed import exposed_bill
from gapfinder.findings.lost import amount, finding
from gapfinder.findings.page import Page
from gapfinder.findings.words import clock_clause, lane_names, subject
from gapfinder.units import format_duration, format_times

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.hosts import Host
    from gapfinder.model import Analysis

PAGE = Page(
    code="slow-node",
    title="One host is slower than the others",
    meaning=(
        "All lanes of a host, the fastest one too, are 10 % over the median of the other hosts' in most steps. What "
        "slows all GPUs of a machine at once is the machine: power or thermal limits of the chassis, slow or shared "
        "CPUs, memory settings, another job, an older driver. All other hosts wait for it in every collective."
    ),
    measured=(
        "Own time, the step without exposed communication, of the host's fastest lane against the median lane of the "
        "other hosts. Hosts are told by the mark of the training-side hook, else each report counts as a host. Needs "
        "two lanes or more on the host: a single slow one is a straggler. Lost is what all lanes waited for its lanes "
        "inside their collectives; those lanes are then no stragglers."
    ),
    change=(
        (
            "Compare that host with a good one: nvidia-smi -q -d CLOCK,POWER,PERFORMANCE (power caps, throttling), the "
            "CPU governor, NUMA and BIOS settings, driver versions, and other programs on it."
        ),
        "Leave the host out (srun --exclude, another machine) and measure again; run gapfinder doctor on both.",
        "Where all of it is launches or data loading, look at its file system and at its CPUs.",
    ),
    beware=(
        "that its GPUs are broken. Nor is it the network: time in communication is not its own time. A host with more "
        "work (an uneven split over pipeline stages) looks the same."
    ),
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where a host is slow in most steps and others wait for it."""
    lost = exposed_bill(analysis).get(PAGE.code, 0)
    slow = [host for host in analysis.hosts if host.is_slow]
    if not slow or not lost:
        return None
    return finding(
        analysis,
        PAGE,
        lost_ns=lost,
        title=f"{subject([host.host for host in slow])} slower than the other hosts, which wait",
        detail=f"{amount(analysis, lost)}: {'; '.join(_described(analysis, host) for host in slow)}"
        f"{clock_clause(analysis)}.",
        always=True,
    )


def _described(analysis: Analysis, host: Host) -> str:
    slow, steps = host.slow_steps
    others = [one for one in analysis.hosts if one.host != host.host and one.compute_ns is not None]
    computes = ""
    if host.compute_ns is not None and others:
        usual = round(median(one.compute_ns or 0 for one in others))
        computes = f"; it computes {format_duration(host.compute_ns)} a step, the others {format_duration(usual)}"
    return (
        f"in {slow} of {steps} steps even the fastest of {lane_names(analysis, host.lanes)} on {host.host} takes "
        f"longer than the median lane elsewhere, mostly {format_times(host.own_ratio or 1)} as long{computes}"
    )
