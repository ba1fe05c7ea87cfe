"""Reports that do not belong together are named: by wall clocks that disagree, by ranks twice, by sizes of the job."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from gapfinder.analysis import analyze
from gapfinder.load import load_profile
from sample_profiles.fleet import build_fleet
from sample_profiles.job import Job

APART = "no collective in common with the other reports of node0"


@pytest.fixture
def reports(tmp_path: Path) -> list[Path]:
    build_fleet(tmp_path, Job(hosts=2, gpus=3, steps=3, layers=1, faults=frozenset()))
    return sorted(tmp_path.glob("*.sqlite"))


def apart(reports: list[Path]) -> list[str]:
    return [note for note in analyze(map(load_profile, reports)).coverage.notes if "in common" in note]


def move_wall_clock(report: Path, *, ns: int) -> None:
    with sqlite3.connect(report) as connection:
        connection.execute("UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs + ?", (ns,))
    connection.close()


def test_reports_whose_clocks_agree_are_not_named(reports):
    assert apart(reports) == []
    assert apart(reports[:3]) == []


def test_one_rank_of_each_host_is_not_named(reports):
    assert apart([reports[0], reports[3]]) == []


def test_a_report_started_before_the_clock_was_set_is_named(reports):
    move_wall_clock(reports[1], ns=5_000_000_000)
    for given in (reports, reports[:3]):
        (note,) = apart(given)
        assert note.startswith(f"rank_1.sqlite: {APART}")


def test_of_two_reports_both_are_named(reports):
    move_wall_clock(reports[1], ns=5_000_000_000)
    (note,) = apart(reports[:2])
    assert note.startswith(f"rank_0.sqlite, rank_1.sqlite: {APART}")


def test_ranks_that_are_there_twice_are_named(reports):
    notes = analyze(load_profile(path) for path in [*reports, *reports[:2], reports[4]]).coverage.notes
    assert "more than one report of ranks 0 to 1, 4: copies, or several runs; analyze each run by itself" in notes


def test_reports_of_jobs_of_several_sizes_are_named(reports, tmp_path):
    other = tmp_path / "other"
    build_fleet(other, Job(hosts=1, gpus=2, steps=2, layers=1, faults=frozenset()))
    notes = analyze(map(load_profile, [*reports, other / "rank_0.sqlite"])).coverage.notes
    assert "reports of several jobs (world sizes 2, 6); analyze each by itself" in notes


def test_a_whole_job_is_one_run(reports):
    assert not any("itself" in note for note in analyze(map(load_profile, reports)).coverage.notes)
