"""Time and memory of `gapfinder analyze` and `collectives` on large simulated reports, in readings of the same run.

Run it by hand: `python benchmarks/analyze.py [--kernels 1000000 --kernels 10000000] [--repeat 3]`.
The simulated reports are kept in `benchmarks/data/`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from table import row, unit_rows

DATA = Path(__file__).parent / "data"
LAYERS = 32  # as in a model of 7 billion parameters: about 360 kernels a step on each GPU
MIB = 1024


@dataclass(frozen=True)
class Run:
    """One whole process: seconds by the clock and of CPU, and peak resident memory in MiB."""

    seconds: float
    cpu: float
    peak_mib: int


def main() -> None:
    """Measure each size and print one row for each kind of run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, action="append", help="rows of the kernel table; repeat for several")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    for kernels in options.kernels or [1_000_000, 10_000_000]:
        measure(report_with(kernels), kernels=kernels, repeat=options.repeat)


def report_with(kernels: int) -> Path:
    """Return a simulated report with that many kernels, made on the first call."""
    path = DATA / f"kernels_{kernels}_layers_{LAYERS}.sqlite"
    if not path.exists():
        DATA.mkdir(exist_ok=True)
        size = ["--kernels", str(kernels), "--layers", str(LAYERS)]
        command = [sys.executable, "-m", "sample_profiles.build", *size, "--output", str(path)]
        subprocess.run(command, check=True, cwd=Path(__file__).parents[1])
    return path


def measure(path: Path, *, kernels: int, repeat: int) -> None:
    """Print medians of alternating runs, so that a slow moment of the machine meets all of them."""
    commands = {
        "analyze, text": ["analyze", str(path)],
        "analyze, JSON": ["analyze", str(path), "--format", "json"],
        "collectives, CSV": ["collectives", str(path), "--format", "csv"],
    }
    unit = unit_rows(path, kernels=kernels, repeat=repeat)
    runs: dict[str, list[Run]] = {what: [] for what in commands}
    for _ in range(repeat):
        for what, arguments in commands.items():
            runs[what].append(run(arguments))
    for what, results in runs.items():
        seconds, cpu = (statistics.median(getattr(one, name) for one in results) for name in ("seconds", "cpu"))
        peak = max(one.peak_mib for one in results)
        told = f"{seconds:.2f} s, {cpu:.2f} s of CPU"
        row(f"{kernels:,} kernels: {what}", told, reads=cpu / unit, peak_mib=peak)


def run(arguments: list[str]) -> Run:
    """Run gapfinder as a process of its own."""
    with tempfile.TemporaryFile() as output:
        started = time.perf_counter()
        process = subprocess.Popen([sys.executable, "-m", "gapfinder", *arguments], stdout=output)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - started
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, arguments)
    return Run(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss // MIB)


if __name__ == "__main__":
    main()
