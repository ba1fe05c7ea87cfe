"""Reports are measured on Dask's workers with the same answer, and what is amiss there is said in a line."""

from __future__ import annotations

import importlib.util
import os
import shlex
import sys
from pathlib import Path

import pytest
import worker_tasks
from click.testing import CliRunner

import gapfinder.cluster.dask
from gapfinder.analysis import analyze
from gapfinder.cli.app import commands
from gapfinder.cluster.dask import DaskWorkers
from gapfinder.cluster.measuring import measure_files
from gapfinder.errors import InputError
from gapfinder.load import load_profile
from gapfinder.render import render_json
from gapfinder.settings import Settings
from sample_profiles.build import build_profile

ROOT = Path(__file__).parents[2]
needs_dask = pytest.mark.skipif(
    importlib.util.find_spec("distributed") is None, reason="needs the package distributed (the extra cluster)"
)
STATES = ("fsdp", "slow_rank", "one_stream")


def test_without_dask_the_error_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    report = tmp_path / "rank_0.sqlite"
    report.touch()
    result = CliRunner().invoke(commands, ["analyze", str(report), "--scheduler", "tcp://127.0.0.1:8786"])
    assert result.exit_code == 2
    assert f"{shlex.quote(sys.executable)} -m pip install 'gapfinder[cluster]'" in result.stderr


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> list[Path]:
    folder = tmp_path_factory.mktemp("reports")
    files = [folder / f"rank_{number}.sqlite" for number in range(len(STATES))]
    for state, file in zip(STATES, files, strict=True):
        build_profile(state, file, seed=3, steps=3, ranks=2)
    return files


@pytest.fixture(scope="module")
def scheduler():
    """Two workers in processes of their own, which find the tests' tasks; Dask itself tries nothing twice."""
    import dask
    from distributed import LocalCluster

    old = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(ROOT), str(ROOT / "tests"), *([old] if old else [])])
    try:
        with (
            dask.config.set({"distributed.scheduler.allowed-failures": 0}),
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        ):
            yield cluster.scheduler_address
    finally:
        os.environ.pop("PYTHONPATH")
        if old is not None:
            os.environ["PYTHONPATH"] = old


@needs_dask
def test_dask_gives_the_bytes_of_one_after_the_other(files, scheduler):
    result = CliRunner().invoke(
        commands, ["analyze", *map(str, files), "--format", "json", "--scheduler", scheduler], catch_exceptions=False
    )
    assert result.exit_code == 0
    assert result.stdout == CliRunner().invoke(commands, ["analyze", *map(str, files), "--format", "json"]).stdout


@needs_dask
def test_a_dask_worker_killed_in_the_middle_changes_nothing(files, scheduler):
    measured = measure_files(files, settings=Settings(), workers=DaskWorkers(scheduler), task=worker_tasks.dies_once)
    assert files[1].with_suffix(".died").exists()
    assert measured.left_out == ()
    assert render_json(measured.analysis(settings=Settings())) == render_json(analyze(map(load_profile, files)))


@needs_dask
def test_a_report_that_kills_dask_workers_is_left_out(files, scheduler):
    measured = measure_files(files, settings=Settings(), workers=DaskWorkers(scheduler), task=worker_tasks.always_dies)
    assert [one.path for one in measured.left_out] == [files[1]]
    assert len(measured.reports) == 2


@needs_dask
def test_a_scheduler_may_be_named_by_its_file(files, scheduler, tmp_path):
    file = tmp_path / "scheduler.json"
    file.write_text(f'{{"address": "{scheduler}"}}')
    assert len(measure_files(files[:1], settings=Settings(), workers=DaskWorkers(str(file))).reports) == 1


@needs_dask
def test_another_version_on_a_worker_is_refused(files, scheduler, monkeypatch):
    monkeypatch.setattr(gapfinder.cluster.dask, "__version__", "0.0.1")
    with pytest.raises(InputError, match=r"has gapfinder .*, not 0\.0\.1; install the same"):
        measure_files(files, settings=Settings(), workers=DaskWorkers(scheduler))


@needs_dask
def test_where_no_scheduler_is_the_error_says_so(files, monkeypatch):
    monkeypatch.setattr(gapfinder.cluster.dask, "_CONNECT_SECONDS", 1)
    for address in ("tcp://127.0.0.1:9", "nonsense://x"):
        with pytest.raises(InputError, match="no Dask scheduler answers at"):
            measure_files(files, settings=Settings(), workers=DaskWorkers(address))
