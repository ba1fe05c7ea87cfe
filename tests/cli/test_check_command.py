"""`gapfinder check` and `gapfinder baseline` on simulated and real profiles: exit codes, files, what is said."""

from __future__ import annotations

import json
import subprocess
import sys
from inspect import signature
from pathlib import Path

import databases
import pytest
from click.testing import CliRunner, Result
from databases import Kernel

import gapfinder
from gapfinder.cli.app import commands
from gapfinder.cli.check_options import FORMATS
from gapfinder.compare.change import MOST_RUNS
from gapfinder.compare.comparable import Aspect
from gapfinder.compare.reference import DEFAULT_RUNS
from gapfinder.compare.snapshot_json import snapshot_from_json
from gapfinder.errors import InputError
from gapfinder.render.check import CHECK_RENDERERS
from sample_profiles.build import build_profile

ROOT = Path(__file__).parents[2]
SHARED = ROOT.parent / "shared" / "profiles"
SAMPLES = ROOT / "sample_profiles"
HEALTHY, BROKEN = SAMPLES / "healthy.sqlite", SAMPLES / "broken_overlap.sqlite"


def run(*arguments: object) -> Result:
    return CliRunner().invoke(commands, [str(argument) for argument in arguments])


@pytest.fixture(autouse=True)
def _own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def baseline(tmp_path_factory):
    """The healthy sample as a baseline file."""
    store = tmp_path_factory.mktemp("store")
    saved = run("baseline", "save", "healthy", HEALTHY, "--store", store)
    assert saved.exit_code == 0
    return store / "healthy.json"


def test_broken_overlap_fails_and_the_cause_is_named(baseline):
    result = run("check", BROKEN, "--baseline", baseline, "--format", "json")
    document = json.loads(result.stdout)
    assert (result.exit_code, document["verdict"]) == (1, "fail")
    breaches = {one["limit"]: one for one in document["limits"] if one["result"] == "breached"}
    assert breaches["overlap_ratio:-5pp"]["finding"] == "overlap-broken"
    assert breaches["overlap_ratio:-5pp"]["new"] == 0
    assert "overlap-broken (Gradients are synchronised only after backward" in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_the_same_training_with_another_seed_passes(tmp_path):
    for seed in (1, 2):
        build_profile("healthy", tmp_path / f"{seed}.sqlite", seed=seed, ranks=2, steps=7, layers=2)
    result = run("check", "2.sqlite", "--baseline", "1.sqlite")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith("PASS: 6 values within the limits\n")


def test_what_got_better_is_told_and_passes():
    result = run("check", HEALTHY, "--baseline", BROKEN)
    assert (result.exit_code, "4 of them better" in result.stdout) == (0, True)


@pytest.mark.skipif(not SHARED.is_dir(), reason="the real profiles are not beside the project")
def test_p99_another_number_of_gpus_is_refused():
    result = run(
        "check", SHARED / "recommender_8ranks_rank3.sqlite", "--baseline", SHARED / "recommender_2ranks_rank1.sqlite"
    )
    assert (result.exit_code, result.stdout.startswith("INCONCLUSIVE")) == (3, True)
    assert "one lane of a larger job" in result.stderr


def test_p99_the_same_file_is_no_comparison(baseline):
    result = run("check", HEALTHY, "--baseline", baseline)
    assert (result.exit_code, "same capture" in result.stderr) == (3, True)


def test_graphs_that_hide_communication_are_inconclusive(baseline):
    result = run("check", SAMPLES / "cuda_graphs.sqlite", "--baseline", baseline)
    assert (result.exit_code, "CUDA graphs were traced whole" in result.stdout) == (3, True)


def test_p98_an_empty_capture_is_inconclusive(baseline, tmp_path):
    empty = databases.nsys_database(tmp_path / "empty.sqlite", kernels=[Kernel(start=0, end=0)])
    for arguments in (["--baseline", baseline], ["--fail-on", "overlap_ratio<0.7"]):
        result = run("check", empty, *arguments)
        assert (result.exit_code, "no GPU operation" in result.stderr) == (3, True)
    saved = run("baseline", "save", "empty", empty, "--store", tmp_path / "store")
    assert (saved.exit_code, "not saved" in saved.stderr) == (3, True)


def test_other_steps_are_refused_until_allowed(baseline):
    arguments = ["check", BROKEN, "--baseline", baseline, "--steps", "1:6", "--fail-on", "idle_ms_per_step:+10%"]
    refused = run(*arguments)
    assert (refused.exit_code, "--allow-different window" in refused.stderr) == (3, True)
    assert run(*arguments, "--allow-different", "window").exit_code == 0


def test_absolute_limits_need_no_baseline():
    assert run("check", HEALTHY, "--fail-on", "overlap_ratio<0.7").exit_code == 0
    assert run("check", HEALTHY, "--fail-on", "overlap_ratio<0.7", "--fail-on", "busy_share<100%").exit_code == 1


WRONG_USAGE = {
    "no baseline": ([HEALTHY], "name one with --baseline"),
    "no such baseline": ([HEALTHY, "--baseline", "mian"], "no baseline 'mian'"),
    "no such file": ([HEALTHY, "--baseline", "mian.json"], "no such file: mian.json"),
    "no limit": ([HEALTHY, "--fail-on", "overlap"], "not a limit: 'overlap'"),
    "no metric": ([HEALTHY, "--fail-on", "overlap<0.7"], "there are overlap_ratio"),
    "a baseline that nobody looks at": (
        [HEALTHY, "--baseline", BROKEN, "--fail-on", "overlap_ratio<0.7"],
        "would not be looked at",
    ),
    "a profile that is none": ([ROOT / "README.md", "--fail-on", "overlap_ratio<0.7"], "README.md"),
    "no format": ([HEALTHY, "--write", "pdf=check.pdf"], "write FORMAT=FILE"),
    "one file twice": ([HEALTHY, "--write", "json=a", "--write", "junit=a"], "two reports would be written to a"),
    "the output twice": (
        [HEALTHY, "--fail-on", "overlap_ratio<0.7", "--write", "json=a", "-o", "a"],
        "two reports would be written to a",
    ),
    "over a profile": ([HEALTHY, "--fail-on", "overlap_ratio<0.7", "-o", HEALTHY, "--force"], "is an input"),
}


@pytest.mark.parametrize(("arguments", "told"), WRONG_USAGE.values(), ids=WRONG_USAGE)
def test_wrong_usage_is_exit_code_2_and_one_line(arguments, told):
    result = run("check", *arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert told in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_reports_are_written_also_when_the_check_fails(tmp_path):
    limit = ["--fail-on", "overlap_ratio<0.99"]
    result = run("check", HEALTHY, *limit, "--write", "junit=check.xml", "--write", "json=check.json")
    assert (result.exit_code, result.stdout.startswith("FAIL")) == (1, True)
    assert "<failure" in (tmp_path / "check.xml").read_text()
    assert json.loads((tmp_path / "check.json").read_text())["verdict"] == "fail"
    again = run("check", HEALTHY, *limit, "--write", "junit=check.xml")
    assert (again.exit_code, "overwrite it with --force" in again.stderr) == (2, True)
    quiet = run("check", HEALTHY, *limit, "-o", "check.txt")
    assert (quiet.stdout, (tmp_path / "check.txt").read_text()) == ("", result.stdout)


def test_the_command_offers_what_the_library_has():
    options = {one.name: one for one in commands.commands["check"].params}
    assert (
        options["history_runs"].default == signature(gapfinder.check).parameters["history_runs"].default == DEFAULT_RUNS
    )
    assert options["history_runs"].type.max == MOST_RUNS
    assert set(FORMATS) == set(CHECK_RENDERERS)
    option = next(one for one in commands.commands["check"].params if one.name == "allow_different")
    assert set(option.type.choices) == set(Aspect)


# Baselines


def test_a_baseline_is_saved_listed_shown_used_and_removed(tmp_path):
    assert run("baseline", "list").stdout == ""
    saved = run("baseline", "save", "main", BROKEN)
    file = tmp_path / ".gapfinder" / "baselines" / "main.json"
    assert (saved.exit_code, saved.stderr) == (0, f"Wrote {file}\n")
    kept = snapshot_from_json(file.read_text(), source="x")
    assert (len(kept.lanes), len(kept.lanes[0].steps), kept.lanes[0].gpu_name) == (8, 5, "NVIDIA H100 80GB HBM3")
    assert "8 lanes on NVIDIA H100 80GB HBM3, 5 steps" in run("baseline", "list").stdout
    shown = run("baseline", "show", "main").stdout
    assert "nsys 2025.5.2" in shown
    assert "rank 7: overlap ratio 0.0 %" in shown
    assert run("check", HEALTHY).exit_code == 0  # the default baseline is called main
    removed = run("baseline", "rm", "main")
    assert (removed.exit_code, removed.stderr, file.exists()) == (0, f"Removed {file}\n", False)
    assert run("check", HEALTHY).exit_code == 2


def test_a_baseline_is_not_overwritten_without_force(tmp_path):
    store = ["--store", tmp_path]
    assert run("baseline", "save", "main", BROKEN, *store).exit_code == 0
    before = (tmp_path / "main.json").read_bytes()
    refused = run("baseline", "save", "main", HEALTHY, *store)
    assert (refused.exit_code, "--force" in refused.stderr) == (2, True)
    assert (tmp_path / "main.json").read_bytes() == before
    assert run("baseline", "save", "main", HEALTHY, "--force", *store).exit_code == 0


@pytest.mark.parametrize("command", ["show", "rm", "save"])
def test_a_name_never_leads_out_of_the_folder(command, tmp_path):
    profile = [HEALTHY] if command == "save" else []
    result = run("baseline", command, "../main", *profile, "--store", tmp_path / "store")
    assert (result.exit_code, "not a name of a baseline" in result.stderr) == (2, True)
    assert list(tmp_path.iterdir()) == []


# The library


def test_the_function_has_the_words_of_the_command(baseline):
    verdict = gapfinder.check(BROKEN, baseline=baseline, fail_on=["overlap_ratio:-5pp"])
    assert (verdict.outcome, verdict.exit_code) == ("fail", 1)
    assert verdict.breaches[0].finding == "overlap-broken"
    assert gapfinder.check(HEALTHY, fail_on=["overlap_ratio<0.7"]).outcome == "pass"
    assert gapfinder.check(BROKEN, baseline="healthy", store=baseline.parent).outcome == "fail"
    with pytest.raises(InputError, match="no difference 'gpu' to allow; there are gpus"):
        gapfinder.check(BROKEN, baseline=baseline, allow_different=["gpu"])


def test_importing_the_package_loads_nothing_heavy():
    code = "import sys, gapfinder; print([name for name in ('numpy', 'pandas', 'click') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout == "[]\n"
