"""Where the CPU time of one analysis goes, from the start of Python to the text, as shares of all of it.

Run it by hand: `python benchmarks/stages.py [--kernels 1000000] [--file EXPORT]`. All is done in this one process, as
`gapfinder analyze` does it in one. The report is that of benchmarks/analyze.py.
"""

from __future__ import annotations

import argparse
import time
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING
from unittest.mock import patch

from analyze import report_with
from table import read_kernels, row

from gapfinder.analysis import join_reports, measure, measure_report
from gapfinder.findings import explained
from gapfinder.load import load_profile
from gapfinder.render import render_text
from gapfinder.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gapfinder.analysis.lanes import LaneOperations
    from gapfinder.analysis.report import Report

START, READING, LANES, MEASURING, TELLING = (
    "start of Python, numpy, pandas and gapfinder's modules",
    "reading kernels, calls, ranges and copies",
    "operations beside their launches, lane by lane",
    "lanes, steps, holes and their causes",
    "findings and text",
)


class Stages:
    """Seconds of CPU by stage; what is clocked inside another stage is taken from that one."""

    def __init__(self) -> None:
        self.seconds = {START: time.process_time(), READING: 0.0, LANES: 0.0, MEASURING: 0.0, TELLING: 0.0}

    @contextmanager
    def clocked(self, stage: str) -> Iterator[None]:
        """Add what is done here to a stage."""
        started, before = time.process_time(), sum(self.seconds.values())
        yield
        inside = sum(self.seconds.values()) - before
        self.seconds[stage] += time.process_time() - started - inside


def main() -> None:
    """Analyze one report and print a line for each stage."""
    stages = Stages()
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kernels", type=int, default=1_000_000, help="rows of the kernel table")
    parser.add_argument("--file", type=Path, help="an export, in place of that")
    options = parser.parse_args()
    path = options.file or report_with(options.kernels)
    run(path, stages)
    unit, whole = read_kernels(path), sum(stages.seconds.values())
    for stage, seconds in stages.seconds.items():
        row(f"stages, {path.stem}: {stage}", f"{seconds:.2f} s of CPU, {seconds / whole:.0%}", reads=seconds / unit)


def run(path: Path, stages: Stages) -> None:
    """Do what `gapfinder analyze` does, with the time of each stage."""
    split = measure.split_lanes

    def split_clocked(report: Report) -> Iterator[LaneOperations]:
        lanes = split(report)
        while True:
            with stages.clocked(LANES):
                lane = next(lanes, None)
            if lane is None:
                return
            yield lane

    settings = Settings()
    with stages.clocked(READING):
        profile = load_profile(path)
        calls = profile.read_calls()
    with stages.clocked(MEASURING), patch.object(measure, "split_lanes", split_clocked):
        measured = measure_report(replace(profile, read_calls=lambda: calls), settings=settings)
        analysis = join_reports([measured], settings=settings)
    with stages.clocked(TELLING):
        render_text(explained(analysis))


if __name__ == "__main__":
    main()
