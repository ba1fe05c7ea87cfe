"""Time and memory of `gapfinder analyze` on large simulated reports, in plain column scans of the same run.

Run it by hand or by `make bench`: `python benchmarks/analyze.py [--kernels 1000000 --kernels 10000000] [--repeat 3]`.
The simulated reports are kept in `benchmarks/data/`.
"""

from __future__ import annotations

import argparse
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

DATA = Path(__file__).parent / "data"
LAYERS = 32  # as in a model of 7 billion parameters: about 360 kernels a step on each GPU
SCAN = 'SELECT total(start), total("end"), total(streamId) FROM CUPTI_ACTIVITY_KIND_KERNEL'
"""The unit; sum() would overflow at 50 million kernels."""

MIB = 1024


@dataclass(frozen=True)
class Run:
    """One whole process: wall seconds and peak resident memory in MiB."""

    seconds: float
    peak_mib: int


def main() -> None:
    """Measure each size and print one line for each kind of run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, action="append", help="rows of the kernel table; repeat for several")
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    print(f"{'kernels':>12} {'what':<34} {'seconds':>8} {'scans':>7} {'peak MiB':>9}")
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
        "analyze, text, with steps": ["analyze", str(path)],
        "analyze, JSON, with steps": ["analyze", str(path), "--format", "json"],
    }
    scans: list[float] = []
    runs: dict[str, list[Run]] = {what: [] for what in commands}
    scan(path)  # warms the file cache for everything after it
    for _ in range(repeat):
        scans.append(scan(path))
        for what, arguments in commands.items():
            runs[what].append(run(arguments))
    unit = statistics.median(scans)
    print(f"{kernels:>12,} {'one scan of three columns':<34} {unit:>8.2f} {1:>7.1f} {'':>9}")
    for what, results in runs.items():
        seconds = statistics.median(one.seconds for one in results)
        peak = max(one.peak_mib for one in results)
        print(f"{kernels:>12,} {what:<34} {seconds:>8.2f} {seconds / unit:>7.1f} {peak:>9,}", flush=True)


def scan(path: Path) -> float:
    """Return the seconds of the unit: one column scan by the sqlite3 module."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    started = time.perf_counter()
    connection.execute(SCAN).fetchall()
    connection.close()
    return time.perf_counter() - started


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
    return Run(seconds, usage.ru_maxrss // MIB)


if __name__ == "__main__":
    main()
