"""Time of one job's reports measured one after the other and on two workers, in one run; what one report takes.

Run it by hand: `python benchmarks/cluster.py [--kernels 500000] [--reports 8] [--workers 2] [--repeat 2]`. The exit
code is 1 when the workers are less than 1.6 times as fast, or the answers differ. Wall time tells only on a machine
with nothing else to do. Elsewhere CPU time tells what there is to gain: what the first process does by itself takes its
time on any number of CPUs.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import resource
import statistics
import subprocess
import sys
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from analyze import DATA, MIB, run
from table import row

from gapfinder.analysis import measure_report
from gapfinder.cluster.memory import estimated_need
from gapfinder.cluster.packing import pack, unpack
from gapfinder.load import load_profile
from gapfinder.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ENOUGH = 1.6
MEGABYTE = 1_000_000
GPUS, STEPS, LAYERS = 8, 6, 8
_PR_SET_CHILD_SUBREAPER = 36  # linux/prctl.h


@dataclass(frozen=True, kw_only=True)
class Spent:
    """Seconds of one command: by the clock, and of CPU in its first process and in all others that it started."""

    wall: float
    own: float
    others: float


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("kernels", 500_000), ("reports", 8), ("workers", 2), ("repeat", 2)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    files = job_with(options.kernels, reports=options.reports)
    tell_report(files[0], kernels=options.kernels)
    spent: dict[int, list[Spent]] = {1: [], options.workers: []}
    outputs = [DATA / f"workers_{count}.txt" for count in spent]
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # the workers' CPU time is told to this process
    for _ in range(options.repeat):  # by turns, so that a slow moment of the machine meets both
        for count, output in zip(spent, outputs, strict=True):
            spent[count].append(spent_on(files, workers=count, output=output))
    alone, together = (median_of(own) for own in spent.values())
    is_same = outputs[0].read_bytes() == outputs[1].read_bytes()
    for what, one in (("one after the other", alone), (f"{options.workers} workers", together)):
        row(f"{len(files)} reports, {what}", f"{one.wall:.2f} s; CPU {one.own:.2f} s and {one.others:.2f} s in others")
    ideal = together.own + together.others / options.workers
    row(f"by CPU time, with {options.workers} idle CPUs", f"{(alone.own + alone.others) / ideal:.2f} times as fast")
    ratio = alone.wall / together.wall
    told = "the same bytes" if is_same else "OTHER BYTES"
    row(f"{options.workers} workers", f"{ratio:.2f} times as fast ({ENOUGH} wanted), {told}")
    sys.exit(0 if is_same and ratio >= ENOUGH else 1)


def job_with(kernels: int, *, reports: int) -> list[Path]:
    """Return the reports of a simulated job, one for each host of 8 GPUs, made on the first call."""
    folder = DATA / f"job_of_{reports}_hosts_with_{kernels}_kernels"
    if not folder.exists():
        part = folder.with_suffix(".part")
        sizes = {"hosts": reports, "gpus": GPUS, "steps": STEPS, "layers": LAYERS, "kernels": kernels}
        options = [f"--{name}={size}" for name, size in sizes.items()]
        command = [sys.executable, "-m", "sample_profiles.fleet", str(part), "--per-host", "--faults=clock-offsets"]
        subprocess.run([*command, *options], check=True, cwd=DATA.parents[1])
        part.rename(folder)
    return sorted(folder.glob("*.sqlite"))


def spent_on(files: Sequence[Path], *, workers: int, output: Path) -> Spent:
    """Analyze the reports in a process of its own, and those that it starts."""
    command = [sys.executable, "-m", "gapfinder", "analyze", *map(str, files), "--workers", str(workers)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = cpu_of_children()
    started = time.perf_counter()
    process = subprocess.Popen([*command, "--force", "--output", str(output)], env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    wall = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    while has_child():
        pass
    own = usage.ru_utime + usage.ru_stime
    return Spent(wall=wall, own=own, others=cpu_of_children() - before - own)


def has_child() -> bool:
    """Wait for a process that the command left behind, if there is one."""
    try:
        os.wait()
    except ChildProcessError:
        return False
    return True


def cpu_of_children() -> float:
    """Return the CPU seconds of all processes that were waited for."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def median_of(runs: Sequence[Spent]) -> Spent:
    """Return the median of each kind of time."""
    wall, own, others = (statistics.median(getattr(run, name) for run in runs) for name in ("wall", "own", "others"))
    return Spent(wall=wall, own=own, others=others)


def tell_report(report: Path, *, kernels: int) -> None:
    """Print the time and memory of one report, how many bytes of it travel, and what packing takes."""
    one = run(["analyze", str(report), "--workers", "1"])
    measured = measure_report(load_profile(report), settings=Settings())
    started = time.process_time()
    packed = pack(measured)
    halfway = time.process_time()
    unpack(packed)
    ended = time.process_time()
    peak, need = one.peak_mib * MIB * MIB // MEGABYTE, estimated_need(report) // MEGABYTE
    operations = sum(len(lane.communication) for lane in measured.lanes)
    hidden = sum(len(lane.communication.computed) for lane in measured.lanes)
    what = f"one report of {kernels:,} kernels"
    row(f"{what}, {report.stat().st_size // MEGABYTE:,} MB", f"{one.seconds:.2f} s", peak_mib=one.peak_mib)
    row(f"{what}: peak estimated before", f"{need:,} MB (it is {peak:,} MB)")
    row(f"{what}: travels", f"{len(packed) / MEGABYTE:.2f} MB: {operations:,} operations, {hidden:,} stretches hidden")
    row(f"{what}: packed and unpacked", f"{halfway - started:.2f} s and {ended - halfway:.2f} s of CPU")


if __name__ == "__main__":
    main()
