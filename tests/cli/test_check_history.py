"""`gapfinder check --against-history`, and what `check` and `run` store: as their user calls them."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

import gapfinder
from gapfinder.cli.app import commands
from gapfinder.compare.history import Source, find_run, record, runs
from sample_profiles.build import build_profile

STORE = Path(".gapfinder/history.db")


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, [str(argument) for argument in arguments])


@pytest.fixture(scope="module")
def trainings(tmp_path_factory):
    """Three runs of the same code, and one of code that was broken."""
    folder = tmp_path_factory.mktemp("trainings")
    for name, state, seed in (
        ("1", "healthy", 1),
        ("2", "healthy", 2),
        ("3", "healthy", 3),
        ("x", "broken_overlap", 4),
    ):
        build_profile(state, folder / f"{name}.sqlite", seed=seed, ranks=2, steps=7, layers=2)
    return {path.stem: path for path in folder.glob("*.sqlite")}


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def stored() -> list[tuple[str, str, bool]]:
    return [(one.branch, one.source, one.accepted) for one in runs(STORE)]


def test_a_history_grows_with_what_passes(trainings):
    first = run("check", trainings["1"], "--against-history", "main")
    assert (first.exit_code, "no run of main is accepted yet" in first.stdout) == (3, True)
    assert f"stored run 1 of main in {STORE.absolute()}, not accepted" in first.stderr
    assert run("history", "accept", 1).exit_code == 0
    assert run("check", trainings["2"], "--against-history", "main").exit_code == 0
    passed = run("check", trainings["3"], "--against-history", "main", "--format", "json")
    assert (passed.exit_code, json.loads(passed.stdout)["limits"][0]["old_runs"]) == (0, 2)
    broken = run("check", trainings["x"], "--against-history", "main")
    assert (broken.exit_code, "overlap-broken" in broken.stderr, "of 3 runs" in broken.stdout) == (1, True, True)
    assert stored() == [("main", "check", True)] * 3 + [("main", "check", False)]
    fewer = run("check", trainings["x"], "--against-history", "main", "--history-runs", 1, "--no-record")
    assert "between runs" not in fewer.stdout
    verdict = gapfinder.check(trainings["x"], against_history="main", history_runs=2, history=STORE)
    assert (verdict.outcome, verdict.judgements[0].old_runs) == ("fail", 2)
    assert len(stored()) == 4


def test_nothing_is_stored_where_nothing_asks_for_it(trainings):
    assert run("check", trainings["1"], "--fail-on", "overlap_ratio<0.1").stderr == ""
    assert run("check", trainings["1"], "--against-history", "main", "--no-record").exit_code == 3
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("how", ["record", "history", "settings", "there already"])
def test_a_check_is_stored_where_something_asks_for_it(how, trainings):
    options, file, branch = [], STORE, "main"
    if how == "record":
        options, branch = ["--record", "pr/7"], "pr/7"
    elif how == "history":
        options, file = ["--history", "ci.db"], Path("ci.db")
    elif how == "settings":
        Path("gapfinder.toml").write_text('history = "kept/h.db"')
        options, file = ["--record", "main"], Path("kept/h.db")
    else:
        run("history", "add", trainings["2"])
    assert run("check", trainings["1"], "--fail-on", "overlap_ratio<0.1", *options).exit_code == 0
    last = runs(file)[-1]
    assert (last.branch, last.source, last.accepted) == (branch, "check", True)


def test_the_branch_and_the_commit_are_those_of_git(trainings, tmp_path):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q", "-b", "feature"], ["commit", "-q", "--allow-empty", "-m", "first"]):
        subprocess.run([*git, *words], check=True, timeout=30)
    run("check", trainings["1"], "--fail-on", "overlap_ratio<0.1", "--history", STORE)
    (only,) = runs(STORE)
    assert (only.branch, len(only.git_commit or "")) == ("feature", 40)


def test_a_run_that_was_not_accepted_is_when_its_check_passes(trainings):
    run("history", "add", trainings["1"], "--not-accepted")
    checked = run("check", trainings["1"], "--fail-on", "overlap_ratio<0.1")
    assert "the same capture is in the history already: run 1 of main" in checked.stderr
    assert stored() == [("main", "add", True)]
    run("check", trainings["1"], "--fail-on", "overlap_ratio<1")
    assert stored() == [("main", "add", True)]


def test_settings_name_the_folder_of_baselines(trainings):
    Path("gapfinder.toml").write_text('baselines = "ci"')
    assert run("baseline", "save", "main", trainings["1"]).exit_code == 0
    assert Path("ci/main.json").is_file()
    assert run("baseline", "list").stdout.startswith("main: ")
    assert run("check", trainings["x"]).exit_code == 1
    assert run("diff", "main", trainings["x"]).exit_code == 0


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--against-history", "main", "--baseline", "main"], "not both"),
        (["--against-history", "main", "--fail-on", "overlap_ratio<0.7"], "would not be looked at"),
        (["--against-history", "main", "--history-runs", 0], "0 is not in the range 1<=x<=20"),
        (["--fail-on", "overlap_ratio:-5pp"], "--against-history"),
    ],
)
def test_wrong_usage_is_one_line(options, words, trainings):
    result = run("check", trainings["1"], *options)
    assert (result.exit_code, result.stderr.count("\n"), words in result.stderr) == (2, 1, True)


BROKEN = {
    "no database": lambda file: file.write_text("hello"),
    "half a database": lambda file: file.write_bytes(b"SQLite format 3\0" + b"\x01" * 90),
    "a folder": lambda file: file.mkdir(),
    "another program's": lambda file: sqlite3.connect(file).execute("CREATE TABLE t (a)").connection.close(),
}


@pytest.mark.parametrize("spoil", BROKEN.values(), ids=BROKEN)
def test_a_history_that_cannot_be_written_changes_no_verdict(spoil, trainings):
    STORE.parent.mkdir()
    spoil(STORE)
    good = run("check", trainings["1"], "--fail-on", "overlap_ratio<0.1")
    assert (good.exit_code, good.stdout.startswith("PASS"), good.stderr.count("\n")) == (0, True, 1)
    assert good.stderr.startswith("gapfinder: not stored in the history: ")
    bad = run("check", trainings["1"], "--fail-on", "overlap_ratio<1")
    assert (bad.exit_code, bad.stderr.count("\n")) == (1, 2)
    against = run("check", trainings["1"], "--against-history", "main")
    assert (against.exit_code, against.stderr.count("\n")) == (2, 1)


def test_a_locked_history_changes_no_verdict(trainings, monkeypatch):
    run("history", "add", trainings["1"])
    monkeypatch.setattr("gapfinder.compare.history.file._LOCK_SECONDS", 0)
    with closing(sqlite3.connect(STORE)) as other:
        other.execute("BEGIN EXCLUSIVE")
        checked = run("check", trainings["2"], "--fail-on", "overlap_ratio<0.1")
    assert (checked.exit_code, "database is locked" in checked.stderr) == (0, True)


def test_a_history_from_anywhere_is_checked_whole(trainings):
    run("history", "add", trainings["1"])
    _, snapshot = find_run(STORE, 1)
    record(STORE, snapshot, branch="b\x1b[31m", source=Source.RUN, accepted=True)
    found = run("check", trainings["2"], "--against-history", "b\x1b[31m")
    assert (found.exit_code, "\x1b" in found.stdout + found.stderr) == (0, False)
