"""slow-nic: transfers between one host and the others are slow, whoever the other host is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.findings.exposed import exposed_bill, slow_nic_of
from gapfinder.findings.lost import amount, finding
from gapfinder.findings.page import Page
from gapfinder.findings.words import clock_clause, listed
from gapfinder.units import format_duration, format_times

if TYPE_CHECKING:
    from gapfinder.explanations import Finding
    from gapfinder.hosts import Host
    from gapfinder.model import Analysis

PAGE = Page(
    code="slow-nic",
    title="One host's network is slower than that of the others",
    meaning=(
        "Transfers between a host and others take twice as long as the same transfers between hosts without it, with "
        "whichever it exchanges data. What all of them share is its side: a network card or cable that negotiated a "
        "lower speed, a card on the wrong PCIe slot or NUMA node, a bad switch port, sockets in place of InfiniBand."
    ),
    measured=(
        "Transfer of each kind of collective between some of the hosts, waiting taken out, by bus bandwidth where "
        "NCCL's payloads tell the bytes, else by time. It is compared with the same operation between as many lanes of "
        "hosts without this one. Needs two groups of other hosts or more: of a single slow link either end may be the "
        "cause, which slow-link tells. Collectives of all hosts tell nothing. Lost is the exposed transfer beyond what "
        "the others need; slow-link is then not charged for it."
    ),
    change=(
        "Look at that host's cards: ibstat (rate, state), ethtool DEVICE (speed), lspci -vv (width), error counters.",
        "Run nccl-tests between that host and a good one, and between two good ones, and compare busbw.",
        "Check that NCCL uses the same interfaces there: NCCL_DEBUG=INFO, NCCL_IB_HCA, NCCL_SOCKET_IFNAME.",
    ),
    beware="that its GPUs are slow: it may be late in collectives only because its transfers end late.",
)


def rule(analysis: Analysis) -> Finding | None:
    """Return the finding, where a host's transfers are slow with all others."""
    slow = [host for host in analysis.hosts if host.has_slow_nic]
    if not slow:
        return None
    lost = exposed_bill(analysis).get(PAGE.code, 0)
    return finding(
        analysis,
        PAGE,
        lost_ns=lost,
        title=f"The network of {listed([host.host for host in slow])} is slower than that of the other hosts",
        detail=f"{amount(analysis, lost)}: {'; '.join(_described(analysis, host) for host in slow)}"
        f"{clock_clause(analysis)}.",
        always=True,
    )


def _described(analysis: Analysis, host: Host) -> str:
    kinds = [one for one in analysis.collectives if slow_nic_of(analysis, one) is host]
    moved = format_duration(sum(one.transfer_ns or 0 for one in kinds))
    operations = listed(sorted({one.operation for one in kinds}))
    which = f" ({operations}, {moved} summed over lanes)" if kinds else ""
    return (
        f"transfers of {host.host} with other hosts{which} take {format_times(host.transfer_ratio or 1)} what they "
        "take elsewhere, or more"
    )
