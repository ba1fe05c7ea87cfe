"""What the dashboard's server takes on large simulated reports: to prepare one, to open it, to answer any window.

Run it by hand: `python benchmarks/dashboard.py [--kernels 1000000 --kernels 10000000] [--file EXPORT]`. Times to answer
are of the thread that answers, in ms: the machine may be busy. The reports are those of benchmarks/analyze.py.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from analyze import MIB, report_with
from table import read_kernels, row

from dashboards.data.opening import OpenProfile, open_prepared
from dashboards.data.windows import WindowRequest, answer
from dashboards.store.records import Job, JobState, StoredProfile

if TYPE_CHECKING:
    from collections.abc import Sequence

WINDOWS, COLUMNS = 50, 1_500
ZOOMS = (1.0, 0.1, 0.01, 0.001, 0.0001)
PREPARE = """
import sys
from pathlib import Path
from dashboards.data.preparing import prepare_profile
from gapfinder.settings import Settings
prepare_profile([Path(sys.argv[1])], folder=Path(sys.argv[2]), settings=Settings(), told=lambda *_: None)
"""


def main() -> None:
    """Measure each report and print one line for each question."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, action="append", help="rows of the kernel table; repeat for several")
    parser.add_argument("--file", type=Path, action="append", default=[], help="an export, in place of those")
    options = parser.parse_args()
    kernels = options.kernels or ([] if options.file else [1_000_000, 10_000_000])
    for path in [*options.file, *map(report_with, kernels)]:
        with tempfile.TemporaryDirectory() as place:
            measure(path, folder=Path(place) / "prepared")


def measure(path: Path, *, folder: Path) -> None:
    """Prepare a report and ask about it."""
    prepare(path, folder)
    profile = opened(folder)
    lanes = len(profile.trace.lanes)
    for many in (lanes, 64):  # lanes are asked for again and again where there are fewer
        for zoom in ZOOMS:
            ask(profile, zoom=zoom, lanes=tuple(place % lanes for place in range(many)))


def prepare(path: Path, folder: Path) -> None:
    """Print what it takes to prepare a report, in a process of its own."""
    started = time.perf_counter()
    process = subprocess.Popen([sys.executable, "-c", PREPARE, str(path), str(folder)])
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, "prepare")
    wall, processor = time.perf_counter() - started, usage.ru_utime + usage.ru_stime
    size = sum(file.stat().st_size for file in folder.iterdir())
    told = f"{wall:.1f} s, {processor:.1f} s of CPU; {size / 1e6:,.0f} MB on disk"
    reads = processor / read_kernels(path)
    row(f"dashboard, {path.stem}: prepared", told, reads=reads, peak_mib=usage.ru_maxrss // MIB)


def opened(folder: Path) -> OpenProfile:
    """Open a prepared report three times, print the shortest, and return it."""
    job = Job(
        id="1",
        profile="a",
        state=JobState.DONE,
        stage="",
        progress=None,
        message=None,
        started_s=None,
        changed_s=0.0,
        attempts=1,
    )
    stored = StoredProfile(
        id="a", name="a", labels=(), files=(), is_uploaded=False, size_bytes=0, added_s=0.0, job=job, folder=folder
    )
    times = []
    for _ in range(3):
        wall, processor = time.perf_counter(), time.process_time()
        profile = open_prepared(stored)
        times.append((time.perf_counter() - wall, time.process_time() - processor))
    wall, processor = min(times)
    row("dashboard: opened again", f"{wall:.2f} s, {processor:.2f} s of CPU")
    return profile


def ask(profile: OpenProfile, *, zoom: float, lanes: Sequence[int]) -> None:
    """Print what random windows of one length take."""
    rng, whole = random.Random(1), profile.trace.end_ns  # noqa: S311 (places in time, no secrets)
    length = max(1, int(whole * zoom))
    times, sizes, marks, columns = [], [], [], []
    for _ in range(WINDOWS):
        start = rng.randrange(whole - length + 1)
        request = WindowRequest(start_ns=start, end_ns=start + length, columns=COLUMNS, lanes=tuple(lanes))
        began = time.thread_time()
        answered = answer(profile.trace, request)
        times.append((time.thread_time() - began) * 1_000)
        found = json.loads(answered)
        sizes.append(len(answered) / 1_000)
        columns.append(found["columns"])
        marks.append(found["marks"]["shown"] + sum(lane["holes"]["shown"] for lane in found["lanes"]))
    p95 = statistics.quantiles(times, n=20)[-1]
    row(
        f"dashboard: {len(lanes)} lanes, {zoom:.2%} of the time, {min(columns):,} columns",
        f"{statistics.median(times):.1f} ms of CPU (p95 {p95:.1f}); at most {max(sizes):,.0f} kB, {max(marks):,} marks",
    )


if __name__ == "__main__":
    main()
