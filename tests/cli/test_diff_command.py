"""`gapfinder diff` as its user calls it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from snapshots import simulated, snapshot_of

from gapfinder.cli.app import commands
from gapfinder.compare.snapshot_json import snapshot_to_json

ROOT = Path(__file__).parents[2]
REAL = ROOT / ".." / "shared" / "profiles"
HEALTHY, BROKEN = (ROOT / "sample_profiles" / f"{name}.sqlite" for name in ("healthy", "broken_overlap"))


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, [str(argument) for argument in arguments])


@pytest.fixture
def baselines(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, snapshot in (("a", simulated(seed=1)), ("b", simulated(seed=2, idle=20.0)), ("none", snapshot_of())):
        (tmp_path / f"{name}.json").write_text(snapshot_to_json(snapshot))
    return tmp_path


def test_profiles_are_compared():
    result = run("diff", HEALTHY, BROKEN)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(
        "healthy.sqlite → broken_overlap.sqlite\n\nA step takes 46.00 ms instead of 38.36 ms"
    )


@pytest.mark.parametrize("form", ["text", "json", "markdown", "html"])
def test_each_format_is_printed_and_written_alike(form, baselines):
    printed = run("diff", "a.json", "b.json", "--format", form)
    written = run("diff", "a.json", "b.json", "--format", form, "--output", "report")
    assert (printed.exit_code, written.exit_code, written.stderr) == (0, 0, "Wrote report\n")
    assert printed.stdout == (baselines / "report").read_text(encoding="utf-8")
    refused = run("diff", "a.json", "b.json", "--output", "report")
    assert (refused.exit_code, "exists; name another file" in refused.stderr) == (2, True)
    assert run("diff", "a.json", "b.json", "--output", "report", "--force").exit_code == 0


def test_an_input_is_no_output(baselines):
    before = (baselines / "a.json").read_text()
    result = run("diff", "a.json", "b.json", "--output", "a.json", "--force")
    assert (result.exit_code, "is an input" in result.stderr) == (2, True)
    assert (baselines / "a.json").read_text() == before


def test_two_of_one_name_are_told_apart_by_their_folders(baselines):
    for name in ("old", "new"):
        (baselines / name).mkdir()
        (baselines / name / "run.json").write_bytes((baselines / "a.json").read_bytes())
    assert run("diff", "old/run.json", "new/run.json").stdout.startswith("old/run.json → new/run.json\n")


@pytest.mark.parametrize(
    ("sides", "missing"), [(("none.json", "a.json"), "none.json"), (("a.json", "none.json"), "none.json")]
)
def test_without_gpu_work_the_exit_code_is_3(sides, missing, baselines):
    result = run("diff", *sides)
    assert (result.exit_code, result.stdout) == (3, "")
    assert result.stderr == f"gapfinder: error: nothing to compare: {missing} has no GPU operation that takes time\n"


def test_what_is_not_there_is_one_line(baselines):
    result = run("diff", "a.json", "nothing.sqlite")
    assert (result.exit_code, result.stderr.count("\n")) == (2, 1)
    assert "nothing.sqlite" in result.stderr


def test_options_of_measuring_reach_both_sides():
    told = json.loads(run("diff", HEALTHY, BROKEN, "--steps", "2:4", "--format", "json").stdout)
    assert [told[side]["steps"] for side in ("before", "after")] == [8 * 2, 8 * 2]


@pytest.mark.skipif(not REAL.is_dir(), reason="the shared real profiles are not there")
def test_ranks_of_jobs_of_other_sizes_are_refused():
    sides = (REAL / "recommender_8ranks_rank3.sqlite", REAL / "recommender_2ranks_rank1.sqlite")
    result = run("diff", *sides)
    assert (result.exit_code, result.stdout) == (3, "")
    assert "not comparable" in result.stderr
    assert "--allow-different ranks" in result.stderr
    allowed = run("diff", *sides, "--allow-different", "ranks", "--allow-different", "gpus")
    assert allowed.exit_code == 0
    assert "not like for like" in allowed.stdout
