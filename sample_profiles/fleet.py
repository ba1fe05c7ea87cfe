"""Command line: write one job of many ranks as many reports, each on the clock of its machine, with planted faults."""

from __future__ import annotations

import argparse
import gc
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from sample_profiles.fabric import Fabric
from sample_profiles.fleet_truth import FleetTruth, ReportTruth, node_name, tell_job
from sample_profiles.host import Host
from sample_profiles.hybrid import HybridShard
from sample_profiles.job import GPUS, HOSTS, LAYERS, SEED, STEPS, Fault, HostClock, Job
from sample_profiles.network import Network
from sample_profiles.simulator import run
from sample_profiles.states import CAPTURE_CLOCK_NS, FIRST_PID, PID_STRIDE, State, training_program
from sample_profiles.tiling import write_tiled
from sample_profiles.trace import Process
from sample_profiles.writer import Session, write_export

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sample_profiles.host import Waits

TRUTH_FILE = "fleet.truth.json"

_OWN_RANDOM_STREAM = 4_000_037
# Members of one collective end up to a few µs apart; up to 26 µs were seen on two H100.
_END_JITTER_NS = 4_000
_LAUNCH_SPREAD_NS = 2_000_000
# When nsys started in each rank, before the first step.
_SESSION_LEADS_NS = (9_500_000_000, 11_500_000_000)


def build_fleet(folder: Path, job: Job, *, has_payloads: bool = True, per_host: bool = False) -> FleetTruth:
    """Simulate `job`, write its reports and their truth (`fleet.truth.json`) into `folder`; return the truth.

    Raises:
        ValueError: the folder holds reports already: one of them could pass for a missing rank's.
    """
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.glob("*.sqlite")):
        raise ValueError(f"{folder} holds reports already; give an empty folder")
    network = Network(seed=job.seed, end_jitter_ns=_END_JITTER_NS)
    fabric = Fabric(job, has_payloads=has_payloads)
    processes = _simulate(job, fabric=fabric, network=network)
    reports = [
        _write(folder / file, group, job=job, lead=lead)
        for file, group, lead in _sessions(job, processes, per_host=per_host)
    ]
    truth = tell_job(job, fabric=fabric, network=network, processes=processes, reports=reports)
    truth.write(folder / TRUTH_FILE)
    return truth


def _simulate(job: Job, *, fabric: Fabric, network: Network) -> list[Process]:
    rng = np.random.default_rng([job.seed, _OWN_RANDOM_STREAM])
    hosts = []
    for rank, late in enumerate(rng.integers(0, _LAUNCH_SPREAD_NS, job.world_size).tolist()):
        first_rank = job.ranks_of(job.host_of(rank))[0]
        process = Process(
            rank=rank,
            ranks=job.world_size,
            # Machines number their processes alike, as containers do.
            pid=FIRST_PID + PID_STRIDE * (rank - first_rank),
            began=CAPTURE_CLOCK_NS + late,
            node=node_name(job.host_of(rank)),
            first_rank=first_rank,
        )
        hosts.append(Host(process, network=network, seed=job.seed, slowdown=job.slowdown_of(rank)))
    train = training_program(State(step=HybridShard(fabric=fabric, layers=job.layers)), steps=job.steps)

    def program(host: Host) -> Waits:
        fabric.initialise(host)
        yield from train(host)

    run(hosts, program)
    return [host.process for host in hosts]


def _sessions(
    job: Job, processes: Sequence[Process], *, per_host: bool
) -> Iterator[tuple[str, Sequence[Process], int]]:
    """Yield file name, processes and lead over the first step of each run of nsys that left a report."""
    groups = [job.ranks_of(host) for host in range(job.hosts)] if per_host else [(r,) for r in range(job.world_size)]
    leads = np.random.default_rng([job.seed, _OWN_RANDOM_STREAM, 1]).integers(*_SESSION_LEADS_NS, len(groups))
    for number, (ranks, lead) in enumerate(zip(groups, leads.tolist(), strict=True)):
        group = [processes[rank] for rank in ranks if rank != job.missing_rank]
        if group:
            yield f"{'host' if per_host else 'rank'}_{number}.sqlite", group, lead


def _write(path: Path, processes: Sequence[Process], *, job: Job, lead: int) -> ReportTruth:
    ranks = tuple(process.rank for process in processes)
    clock = job.clocks()[job.host_of(ranks[0])]
    session = _session(clock, started=CAPTURE_CLOCK_NS - lead, gpus=job.gpus)
    write_export(processes, path, session=session)
    is_truncated = job.truncated_rank in ranks
    if is_truncated:
        with path.open("r+b") as file:
            file.truncate(path.stat().st_size // 2)
    return ReportTruth(
        file=path.name,
        host=processes[0].node,
        ranks=ranks,
        utc_epoch_ns=session.started_utc_ns,
        true_start_ns=-lead,
        drift_ppb=clock.drift_ppb,
        is_truncated=is_truncated,
    )


def _session(clock: HostClock, *, started: int, gpus: int) -> Session:
    began = clock.read(started)
    return Session(started_utc_ns=began, clock=lambda time: clock.read(time) - began, gpus=gpus)


def _repeat(folder: Path, job: Job, *, kernels: int) -> None:
    """Repeat the written reports until each has so many kernels; the truth, which no longer holds, goes."""
    if job.truncated_rank is not None:
        raise ValueError(f"a report that is cut off cannot be repeated; leave out {Fault.TRUNCATED_REPORT}")
    (folder / TRUTH_FILE).unlink()
    write_tiled(sorted(folder.glob("*.sqlite")), kernels=kernels)


def parse_faults(text: str) -> frozenset[Fault]:
    """Return the faults that `all`, `none` or names with commas between them stand for.

    Raises:
        ValueError: no such fault.
    """
    names = {"all": list(Fault), "none": []}.get(text, [name.strip() for name in text.split(",")])
    unknown = sorted(set(names) - set(Fault))
    if unknown:
        raise ValueError(f"no fault {unknown[0]!r}; there are all, none, {', '.join(Fault)}")
    return frozenset(Fault(name) for name in names)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m sample_profiles.fleet", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the reports go; made if it is not there")
    parser.add_argument("--hosts", type=int, default=HOSTS)
    parser.add_argument("--gpus", type=int, default=GPUS, help="ranks on each host (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=STEPS)
    parser.add_argument("--layers", type=int, default=LAYERS)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--faults", default="all", help=f"all, none, or some of {','.join(Fault)}")
    parser.add_argument("--per-host", action="store_true", help="one report for each host, not for each rank")
    parser.add_argument("--no-payloads", action="store_true", help="leave out what NCCL attaches to its ranges")
    parser.add_argument("--kernels", type=int, help="repeat the job until each report has this many; leaves no truth")
    options = parser.parse_args(arguments)
    try:
        job = Job(
            hosts=options.hosts,
            gpus=options.gpus,
            steps=options.steps,
            layers=options.layers,
            seed=options.seed,
            faults=parse_faults(options.faults),
        )
        build_fleet(options.folder, job, has_payloads=not options.no_payloads, per_host=options.per_host)
        if options.kernels is not None:
            _repeat(options.folder, job, kernels=options.kernels)
    except ValueError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    gc.disable()  # a million records that live to the end, and no cycles: looking for them takes a sixth of the time
    sys.exit(main())
