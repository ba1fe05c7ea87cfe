"""Clocks are read from sampled GPU metrics, of the one metric that is the clock, in Hz whatever the export holds."""

from __future__ import annotations

from pathlib import Path

import pytest
from databases import Kernel, nsys_database

from gapfinder.load import load_profile

HZ, OTHER = 9, 12
NAMES = ("typeId", "sourceId", "typeName TEXT", "metricId", "metricName TEXT")
SAMPLES = ("timestamp", "typeId", "metricId", "value")


def kind(gpu: int) -> int:
    """What identifies a metric set of a GPU: its number is in the lowest 8 bits."""
    return 0x0500_0000_0300 + gpu


def clocks(path: Path, rows: list[tuple[object, ...]], *, name: str = "GPC Clock Frequency [MHz]") -> list[list[int]]:
    catalogue = [
        (kind(gpu), 1, "ga100", metric, text) for gpu in (0, 3) for metric, text in ((HZ, name), (OTHER, "SMs Active"))
    ]
    tables = {"TARGET_INFO_GPU_METRICS": (NAMES, catalogue), "GPU_METRICS": (SAMPLES, rows)}
    found = load_profile(nsys_database(path, kernels=[Kernel(start=0, end=1)], tables=tables)).read_clocks()
    return found.to_numpy().tolist()


def test_only_the_clock_is_read_in_order_of_time(tmp_path: Path) -> None:
    rows = [(20, kind(3), HZ, 1_410_000_000), (10, kind(0), HZ, 1_755_000_000), (10, kind(0), OTHER, 97)]
    assert clocks(tmp_path / "a.sqlite", rows) == [[10, 0, 1_755_000_000], [20, 3, 1_410_000_000]]


@pytest.mark.parametrize("name", ["GPC Clock Frequency", "GPC Clock Frequency [MHz]"])
def test_megahertz_are_told_by_their_size(tmp_path: Path, name: str) -> None:
    rows = [(10, kind(0), HZ, 1_755), (20, kind(0), HZ, 1_755_000_000)]
    assert {row[2] for row in clocks(tmp_path / "a.sqlite", rows, name=name)} == {1_755_000_000}


@pytest.mark.parametrize(
    "row",
    [
        (10, kind(0), HZ, None),
        (10, kind(0), HZ, 0),
        (10, kind(0), HZ, -5),
        (10, kind(0), HZ, 2**62),
        (None, kind(0), HZ, 1_755),
        (10, kind(7), HZ, 1_755),  # a GPU whose metrics are not in the catalogue
        (10, kind(0), HZ, "fast"),
    ],
)
def test_what_is_no_clock_is_left_out(tmp_path: Path, row: tuple[object, ...]) -> None:
    assert clocks(tmp_path / "a.sqlite", [row]) == []


def test_without_metrics_there_are_no_clocks(tmp_path: Path) -> None:
    assert len(load_profile(nsys_database(tmp_path / "a.sqlite", kernels=[Kernel(start=0, end=1)])).read_clocks()) == 0
    assert clocks(tmp_path / "b.sqlite", [(10, kind(0), HZ, 1_755)], name="SYS Clock Frequency") == []
