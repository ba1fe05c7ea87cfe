"""The table that all benchmarks print: Markdown, as docs/performance.md holds it."""

from __future__ import annotations

import os
import platform
import sqlite3
import statistics
import time
from importlib.metadata import version
from pathlib import Path

REPEAT = 3
TABLE = "CUPTI_ACTIVITY_KIND_KERNEL"
SCAN = f'SELECT total(start), total("end"), total(streamId) FROM {TABLE}'  # noqa: S608 - sum() overflows at 50 million
READ = f"SELECT * FROM {TABLE}"  # noqa: S608 - a constant
_ROWS = 10_000


def heading() -> None:
    """Print the machine, and the table's head."""
    libraries = ", ".join(f"{name} {version(name)}" for name in ("numpy", "pandas"))
    cpu = next((line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if "model name" in line), "CPU")
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    machine = f"{len(os.sched_getaffinity(0))} CPUs ({cpu}), {memory:.0f} GB, load {os.getloadavg()[0]:.1f}"
    print(f"{machine}; Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {libraries}\n")
    print("| measured | result | reads | peak MiB |\n| --- | ---: | ---: | ---: |", flush=True)


def row(measured: str, result: str, *, reads: float | None = None, peak_mib: int | None = None) -> None:
    """Print one line.

    Args:
        measured: what.
        result: the figure with its unit.
        reads: how many times the CPU time it took of reading the report's kernels once (`read_kernels`).
        peak_mib: resident memory of the process.
    """
    ratio = "" if reads is None else f"{reads:.2f}"
    print(f"| {measured} | {result} | {ratio} | {'' if peak_mib is None else f'{peak_mib:,}'} |", flush=True)


def read_kernels(path: Path) -> float:
    """Return the CPU seconds of fetching every row of the kernel table into Python: the unit of all others."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    started = time.process_time()
    cursor = connection.execute(READ)
    while cursor.fetchmany(_ROWS):
        pass
    seconds = time.process_time() - started
    connection.close()
    return seconds


def scan(path: Path) -> float:
    """Return the CPU seconds of the least that sums over the kernel table take: three columns, inside SQLite."""
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
    started = time.process_time()
    connection.execute(SCAN).fetchall()
    seconds = time.process_time() - started
    connection.close()
    return seconds


def read_bytes(path: Path) -> float:
    """Return the CPU seconds of reading the file, whose content the system holds in memory if it can."""
    started = time.process_time()
    with path.open("rb", buffering=0) as file:
        while file.read(1 << 20):
            pass
    return time.process_time() - started


def unit_rows(path: Path, *, kernels: int, repeat: int = REPEAT) -> float:
    """Print what reading a report takes, and return the seconds of reading its kernels once."""
    read_bytes(path)  # so that none of those measured has to wait for the disk
    units = {what: statistics.median(one(path) for _ in range(repeat)) for what, one in _UNITS.items()}
    unit = units["every row of its kernel table fetched by sqlite3"]
    for what, seconds in units.items():
        row(f"{kernels:,} kernels: {what}", f"{seconds:.2f} s of CPU", reads=seconds / unit)
    return unit


_UNITS = {
    "the file's bytes read": read_bytes,
    "three columns of its kernel table summed by sqlite3": scan,
    "every row of its kernel table fetched by sqlite3": read_kernels,
}


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return []
