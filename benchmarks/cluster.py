"""Time of many reports measured one after the other and on two workers, in one run; memory and travel of one report.

Run it by hand on a machine with nothing else to do:
`python benchmarks/cluster.py [--kernels 3000000] [--reports 8] [--workers 2] [--repeat 3]`. The exit code is 1 when the
workers are less than 1.6 times as fast, or the answers differ.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from typing import TYPE_CHECKING

from analyze import DATA, report_with, run

from gapfinder.analysis import measure_report
from gapfinder.cluster.memory import estimated_need
from gapfinder.cluster.packing import pack, unpack
from gapfinder.load import load_profile
from gapfinder.settings import Settings

if TYPE_CHECKING:
    from pathlib import Path

ENOUGH = 1.6
MEGABYTE = 1_000_000


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    for name, default in (("kernels", 3_000_000), ("reports", 8), ("workers", 2), ("repeat", 3)):
        parser.add_argument(f"--{name}", type=int, default=default)
    options = parser.parse_args()
    report = report_with(options.kernels)
    files = copies(report, count=options.reports)
    one = run(["analyze", str(files[0]), "--workers", "1"])
    need = estimated_need(files[0]) // MEGABYTE
    print(f"one report of {options.kernels:,} kernels, {report.stat().st_size // MEGABYTE:,} MB:")
    print(f"  measured in {one.seconds:.2f} s, peak {one.peak_mib:,} MiB (estimated before: {need:,} MB)")
    tell_travel(report)
    seconds: dict[int, list[float]] = {1: [], options.workers: []}
    outputs = [DATA / f"workers_{count}.json" for count in seconds]
    for _ in range(options.repeat):  # by turns, so that a slow moment of the machine meets both
        for count, output in zip(seconds, outputs, strict=True):
            command = ["analyze", *map(str, files), "--workers", str(count), "--format", "json", "--force"]
            seconds[count].append(run([*command, "--output", str(output)]).seconds)
    alone, together = (statistics.median(times) for times in seconds.values())
    is_same = outputs[0].read_bytes() == outputs[1].read_bytes()
    print(f"{len(files)} reports, one after the other {alone:.2f} s, on {options.workers} workers {together:.2f} s:")
    print(f"  {alone / together:.2f} times as fast, {'the same bytes' if is_same else 'OTHER BYTES'}")
    sys.exit(0 if is_same and alone / together >= ENOUGH else 1)


def copies(report: Path, *, count: int) -> list[Path]:
    """Return the report under so many names."""
    folder = DATA / f"{report.stem}_as_ranks"
    folder.mkdir(exist_ok=True)
    files = [folder / f"rank_{number}.sqlite" for number in range(count)]
    for file in files:
        if not file.exists():
            os.link(report, file)
    return files


def tell_travel(report: Path) -> None:
    """Print how many bytes travel, and what packing takes."""
    measured = measure_report(load_profile(report), settings=Settings())
    started = time.perf_counter()
    packed = pack(measured)
    halfway = time.perf_counter()
    unpack(packed)
    ended = time.perf_counter()
    collectives = sum(len(lane.communication) for lane in measured.lanes)
    hidden = sum(len(lane.communication.computed) for lane in measured.lanes)
    print(f"  {len(packed) / MEGABYTE:.2f} MB travel for {collectives:,} collectives and {hidden:,} stretches hidden;")
    print(f"  packed in {1000 * (halfway - started):.0f} ms, unpacked in {1000 * (ended - halfway):.0f} ms")


if __name__ == "__main__":
    main()
