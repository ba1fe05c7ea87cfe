"""Real exports of several schemas, when their folder is there: the analysis of a copy is that of the report."""

from __future__ import annotations

from pathlib import Path

import pytest

from gapfinder.analysis import analyze
from gapfinder.findings import explained
from gapfinder.load import load_profile
from gapfinder.render import render_json
from gapfinder.scrub import scrub
from gapfinder.settings import Settings

FOLDER = Path(__file__).parents[2] / ".." / "shared" / "profiles"
NAMES = ("h100x2_sendrecv_after", "mpi_saxpy_schema_2_9", "no_metadata_2021", "cuda_graphs_whole", "graph_trace_tiny")

if not FOLDER.is_dir():
    pytest.skip(f"no real profiles in {FOLDER}", allow_module_level=True)


@pytest.mark.parametrize("name", NAMES)
def test_the_analysis_of_a_copy_of_a_real_report(tmp_path, name):
    report, copy = FOLDER / f"{name}.sqlite", tmp_path / f"{name}.sqlite"
    scrub(report, copy)
    reports = [render_json(explained(analyze([load_profile(path)], settings=Settings()))) for path in (report, copy)]
    assert reports[1] == reports[0]
