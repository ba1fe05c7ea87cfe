"""The known answers of a simulated job: clocks, faults, every collective, and who each step waited for.

Times are true ns after the reference, unless a name says otherwise.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from sample_profiles.critical import NETWORK, CriticalPath, end_of
from sample_profiles.job import REFERENCE_UTC_NS, SLOW_COMPUTE, SLOW_NIC, Fault
from sample_profiles.states import CAPTURE_CLOCK_NS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from sample_profiles.fabric import Channel, Fabric
    from sample_profiles.job import Job
    from sample_profiles.network import Network
    from sample_profiles.trace import Process, Rendezvous


@dataclass(frozen=True, kw_only=True, slots=True)
class HostTruth:
    """A machine: its clock is `offset_ns` ahead at the reference, and `drift_ppb` too fast."""

    host: str
    ranks: tuple[int, ...]
    offset_ns: int
    drift_ppb: int


@dataclass(frozen=True, kw_only=True, slots=True)
class ReportTruth:
    """A written report: true time = `true_start_ns` + its own time * 10^9 / (10^9 + `drift_ppb`).

    Attributes:
        utc_epoch_ns: what it says about its start, by the wrong clock of its machine.
        is_truncated: the file is cut.
    """

    file: str
    host: str
    ranks: tuple[int, ...]
    utc_epoch_ns: int
    true_start_ns: int
    drift_ppb: int
    is_truncated: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class FaultTruth:
    """A planted fault; `permille` is the time that compute or transfers take, in thousandths of the usual."""

    fault: Fault
    ranks: tuple[int, ...]
    host: str | None
    permille: int | None


@dataclass(frozen=True, kw_only=True, slots=True)
class ChannelTruth:
    """A communicator; `id` is NCCL's, unsigned."""

    communicator: str
    scope: str
    id: int
    ranks: tuple[int, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class CollectiveTruth:
    """The n-th collective of a communicator (`number` is n); lists are in the order of the communicator's ranks.

    Attributes:
        starts_ns, ends_ns: of each rank's kernel.
        waits_ns: from there until the last rank came.
        arrival_ns: when that was; the transfer begins.
        last_rank: who it was.
    """

    communicator: str
    number: int
    step: int
    operation: str
    bytes: int
    starts_ns: tuple[int, ...]
    ends_ns: tuple[int, ...]
    waits_ns: tuple[int, ...]
    arrival_ns: int
    transfer_ns: int
    last_rank: int


@dataclass(frozen=True, kw_only=True, slots=True)
class JobStepTruth:
    """A step of all ranks: from the end of the last all-reduce before it to the end of its own last one.

    Attributes:
        critical_rank: the rank with most of the critical path.
        critical_ns: the path's time by rank.
        network_ns: the path's time in transfers; with `critical_ns` it adds up to the step.
        last_rank: who came last to the last all-reduce; perhaps only because another rank of its machine is slow.
    """

    number: int
    start_ns: int
    end_ns: int
    critical_rank: int
    critical_ns: dict[int, int]
    network_ns: int
    last_rank: int


@dataclass(frozen=True, kw_only=True, slots=True)
class FleetTruth:
    """The answers for one job."""

    seed: int
    world_size: int
    gpus_per_host: int
    has_payloads: bool
    reference_utc_ns: int
    missing_ranks: tuple[int, ...]
    truncated: tuple[str, ...]
    faults: tuple[FaultTruth, ...]
    hosts: tuple[HostTruth, ...]
    reports: tuple[ReportTruth, ...]
    communicators: tuple[ChannelTruth, ...]
    steps: tuple[JobStepTruth, ...]
    collectives: tuple[CollectiveTruth, ...]

    def write(self, path: Path) -> None:
        """Write JSON, one part a line, one item of a long list a line."""
        lines = (f"{json.dumps(name)}: {_lines(value)}" for name, value in asdict(self).items())
        path.write_text("{" + ",\n".join(lines) + "}\n", encoding="utf-8")


def _lines(value: object) -> str:
    if isinstance(value, tuple) and value and isinstance(value[0], dict):
        return "[\n" + ",\n".join(json.dumps(item, separators=(",", ":")) for item in value) + "\n]"
    return json.dumps(value)


def planted(job: Job) -> Iterator[FaultTruth]:
    """Yield the faults of a job and where they are."""
    for fault, host, permille in (
        (Fault.SLOW_NODE, job.slow_host, SLOW_COMPUTE),
        (Fault.SLOW_NIC, job.slow_nic, SLOW_NIC),
    ):
        if host is not None:
            yield FaultTruth(fault=fault, ranks=job.ranks_of(host), host=node_name(host), permille=permille)
    for fault, rank, slowdown in (
        (Fault.SLOW_GPU, job.slow_rank, SLOW_COMPUTE),
        (Fault.MISSING_RANK, job.missing_rank, None),
        (Fault.TRUNCATED_REPORT, job.truncated_rank, None),
    ):
        if rank is not None:
            yield FaultTruth(fault=fault, ranks=(rank,), host=node_name(job.host_of(rank)), permille=slowdown)
    for fault in (Fault.CLOCK_OFFSETS, Fault.CLOCK_DRIFT):
        if fault in job.faults:
            yield FaultTruth(fault=fault, ranks=(), host=None, permille=None)


def node_name(host: int) -> str:
    """Return the name of a machine."""
    return f"node{host}"


def tell_collectives(fabric: Fabric, network: Network) -> Iterator[CollectiveTruth]:
    """Yield every collective, communicator by communicator, in order."""
    for channel in fabric.channels:
        for number, (step, message) in enumerate(channel.log):
            meeting = network.meetings[channel.communicator.name, number]
            spans = [meeting.ops[rank].span for rank in meeting.members]
            arrival = max(start for start, _ in spans)
            yield CollectiveTruth(
                communicator=channel.communicator.name,
                number=number,
                step=step,
                operation=message.kernel.partition("_")[0],
                bytes=message.bytes,
                starts_ns=tuple(_true(start) for start, _ in spans),
                ends_ns=tuple(_true(end) for _, end in spans),
                waits_ns=tuple(arrival - start for start, _ in spans),
                arrival_ns=_true(arrival),
                transfer_ns=meeting.transfer,
                last_rank=meeting.last_rank(),
            )


def tell_steps(processes: Sequence[Process], *, world: Channel, network: Network) -> Iterator[JobStepTruth]:
    """Yield who each step waited for."""
    last: dict[int, Rendezvous] = {
        step: network.meetings[world.communicator.name, number] for number, (step, _) in enumerate(world.log)
    }
    floor = min(process.began for process in processes)
    for number, meeting in last.items():
        path = CriticalPath(processes, last=meeting, floor=floor)
        network_ns = path.shares.get(NETWORK, 0)
        yield JobStepTruth(
            number=number,
            start_ns=_true(floor),
            end_ns=_true(end_of(meeting)),
            critical_rank=path.critical_rank(),
            critical_ns={rank: ns for rank, ns in sorted(path.shares.items(), key=str) if rank is not None},
            network_ns=network_ns,
            last_rank=meeting.last_rank(),
        )
        floor = end_of(meeting)


def _true(time: int) -> int:
    return time - CAPTURE_CLOCK_NS


def tell_hosts(job: Job) -> Iterator[HostTruth]:
    """Yield the machines and their clocks."""
    for host, clock in enumerate(job.clocks()):
        yield HostTruth(
            host=node_name(host), ranks=job.ranks_of(host), offset_ns=clock.offset_ns, drift_ppb=clock.drift_ppb
        )


def tell_job(
    job: Job, *, fabric: Fabric, network: Network, processes: Sequence[Process], reports: Sequence[ReportTruth]
) -> FleetTruth:
    """Return the truth about a simulated job of which `reports` were written."""
    written = {rank for report in reports for rank in report.ranks}
    return FleetTruth(
        seed=job.seed,
        world_size=job.world_size,
        gpus_per_host=job.gpus,
        has_payloads=fabric.has_payloads,
        reference_utc_ns=REFERENCE_UTC_NS,
        missing_ranks=tuple(rank for rank in range(job.world_size) if rank not in written),
        truncated=tuple(report.file for report in reports if report.is_truncated),
        faults=tuple(planted(job)),
        hosts=tuple(tell_hosts(job)),
        reports=tuple(reports),
        communicators=tuple(
            ChannelTruth(
                communicator=channel.communicator.name,
                scope=channel.scope,
                id=channel.id,
                ranks=channel.communicator.members,
            )
            for channel in fabric.channels
        ),
        steps=tuple(tell_steps(processes, world=fabric.world, network=network)),
        collectives=tuple(tell_collectives(fabric, network)),
    )
