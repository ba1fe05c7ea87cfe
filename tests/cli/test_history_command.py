"""`gapfinder history` as its user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from snapshots import simulated

from gapfinder.cli.app import commands
from gapfinder.compare.history import Source, record

ROOT = Path(__file__).parents[2]
HEALTHY = ROOT / "sample_profiles" / "healthy.sqlite"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, ["history", *map(str, arguments)])


@pytest.fixture
def twenty(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for seed in range(20):
        snapshot = simulated(seed=seed, noise=0.01, steps=6, hidden=25.0 if seed < 12 else 5.0)
        record(Path(".gapfinder/history.db"), snapshot, branch="main", source=Source.CHECK, accepted=True)
    return tmp_path


def test_a_profile_is_added_once_and_listed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    added = run("add", HEALTHY, "--label", "first")
    assert (added.exit_code, added.stdout) == (0, "")
    assert added.stderr == f"Stored run 1 of main in {tmp_path}/.gapfinder/history.db\n"
    assert "there already: run 1 of main" in run("add", HEALTHY).stderr
    (only,) = json.loads(run("list", "--format", "json").stdout)["runs"]
    assert "1 run measured it, of the 8 that it takes" in run("trend").stdout
    assert (only["id"], only["branch"], only["label"], only["source"], only["accepted"]) == (
        1,
        "main",
        "first",
        "add",
        True,
    )
    shown = run("show", 1, "--format", "json")
    assert json.loads(shown.stdout)["metrics"]["overlap_ratio"] == pytest.approx(0.95, abs=0.01)


def test_a_trend_shows_the_change(twenty):
    text = run("trend").stdout
    assert text.startswith("overlap ratio, 20 runs of main, oldest first: ")
    assert "Worse since run 13: " in text
    told = json.loads(run("trend", "overlap_ratio", "--format", "json").stdout)
    assert [one["id"] for one in told["runs"] if one["level_after"] is not None] == [13]
    assert "No lasting change of its level can be told from noise." in run("trend", "idle_ms_per_step").stdout
    assert "| 13 |" in run("trend", "--format", "markdown").stdout


def test_runs_are_accepted_and_removed(twenty):
    assert run("accept", 3, "--no").stderr == "Run 3 of main is not accepted\n"
    assert run("rm", 4).stderr == "Removed run 4 of main\n"
    told = {one["id"]: one["accepted"] for one in json.loads(run("list", "--format", "json").stdout)["runs"]}
    assert (told[3], told[5], 4 in told) == (False, True, False)
    assert run("accept", 3).stderr == "Run 3 of main is accepted\n"


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("trend", "speed"), 2, "no metric 'speed'"),
        (("trend", "--branch", "nobody"), 3, "no run of nobody"),
        (("show", 99), 2, "no run 99"),
        (("rm", 99), 2, "no run 99"),
        (("list", "--store", "other.db"), 2, "no history at other.db"),
    ],
)
def test_what_cannot_be_is_one_line(arguments, code, words, twenty):
    result = run(*arguments)
    assert (result.exit_code, result.stderr.count("\n"), words in result.stderr) == (code, 1, True)


def test_labels_from_anywhere_are_no_control_characters(twenty):
    record(
        Path(".gapfinder/history.db"),
        simulated(seed=99),
        branch="x\x1b[2J",
        source=Source.RUN,
        accepted=True,
        label="\x1b]0;a\x07|<b>",
    )
    for form in ("text", "markdown", "json"):
        assert "\x1b" not in run("list", "--format", form).stdout
    assert "\x1b" not in run("show", 21).stdout
