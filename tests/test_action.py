"""The GitHub action: its shell steps run here as a runner runs them."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ACTION = (ROOT / "action.yml").read_text(encoding="utf-8")
SAMPLES = ROOT / "sample_profiles"
INPUTS = (
    "PROFILE",
    "BASELINE",
    "AGAINST_HISTORY",
    "HISTORY",
    "RECORD",
    "FAIL_ON",
    "ALLOW_DIFFERENT",
    "STORE",
    "CONFIG",
)


def section(name: str) -> str:
    return textwrap.dedent(re.search(rf"^{name}:\n((?:  .*\n|\n)+)", ACTION, re.MULTILINE)[1])


def step(name: str) -> str:
    """The text of one step."""
    return next(
        part for part in re.split(r"^ *- (?=name: )", ACTION, flags=re.MULTILINE) if part.startswith(f"name: {name}\n")
    )


def script(name: str) -> str:
    return textwrap.dedent(step(name).partition("run: |\n")[2])


def run_check(tmp_path: Path, **inputs: str) -> tuple[int, dict[str, str], str, str]:
    """Run the step as a runner does; return exit code, outputs, summary and what was printed."""
    (tmp_path / "work").mkdir()
    python = tmp_path / "temp/gapfinder/bin/python"  # of the environment that the step before makes
    python.parent.mkdir(parents=True)
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "$@"\n')
    python.chmod(0o755)
    (tmp_path / "script.sh").write_text(script("Check"))
    outputs, summary = tmp_path / "outputs", tmp_path / "summary"
    outputs.touch()
    summary.touch()
    environment = {
        **dict.fromkeys(INPUTS, ""),
        **inputs,
        "HOME": str(tmp_path),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "RUNNER_TEMP": str(tmp_path / "temp"),
        "GITHUB_OUTPUT": str(outputs),
        "GITHUB_STEP_SUMMARY": str(summary),
    }
    done = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(tmp_path / "script.sh")],
        cwd=tmp_path / "work",
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    told = dict(line.split("=", 1) for line in outputs.read_text().splitlines())
    return done.returncode, told, summary.read_text(), done.stdout + done.stderr


def test_a_training_that_is_good_enough_passes(tmp_path):
    code, outputs, summary, said = run_check(
        tmp_path, PROFILE=f"{SAMPLES / 'healthy.sqlite'}\n", FAIL_ON="overlap_ratio<0.7\n\nidle_share>10%\n"
    )
    assert (code, outputs["verdict"]) == (0, "pass")
    assert summary.startswith("## gapfinder check: PASS: 2 values within the limits")
    assert "::notice title=gapfinder::PASS" in said
    assert len(json.loads(Path(outputs["report"]).read_text())["limits"]) == 2


def test_a_regression_fails_with_an_annotation(tmp_path):
    code, outputs, summary, said = run_check(
        tmp_path, PROFILE=str(SAMPLES / "broken_overlap.sqlite"), BASELINE=str(SAMPLES / "healthy.sqlite")
    )
    assert (code, outputs["verdict"]) == (1, "fail")
    assert "### Worse than allowed" in summary
    assert "::error title=gapfinder%3A overlap_ratio%3A-5pp::overlap ratio of all 8 lanes fell" in said
    assert json.loads(Path(outputs["report"]).read_text())["verdict"] == "fail"


def test_no_answer_is_no_pass(tmp_path):
    code, outputs, summary, _ = run_check(
        tmp_path, PROFILE=str(SAMPLES / "cuda_graphs.sqlite"), FAIL_ON="overlap_ratio<0.1"
    )
    assert (code, outputs["verdict"]) == (3, "inconclusive")
    assert "INCONCLUSIVE" in summary


def test_a_history_is_filled_and_held_against(tmp_path):
    inputs = {"PROFILE": str(SAMPLES / "healthy.sqlite"), "HISTORY": str(tmp_path / "ci.db")}
    code, outputs, summary, said = run_check(tmp_path, AGAINST_HISTORY="main", RECORD="pr/1", **inputs)
    assert (code, outputs["verdict"], "no run of main is accepted yet" in summary) == (3, "inconclusive", True)
    assert "stored run 1 of pr/1" in said


def test_what_cannot_work_is_an_error_without_a_report(tmp_path):
    code, outputs, summary, said = run_check(tmp_path, PROFILE="no such file", FAIL_ON="overlap_ratio<0.1")
    assert (code, outputs, summary) == (2, {"verdict": "error", "report": ""}, "")
    assert "no such file" in said


@pytest.mark.parametrize("hostile", ["$(touch owned)`touch owned`", '"; touch owned; "', "--help"])
def test_an_input_is_never_a_command_nor_an_option(tmp_path, hostile):
    code, outputs, _, _ = run_check(
        tmp_path, PROFILE=hostile, FAIL_ON="overlap_ratio<0.1", BASELINE=hostile, RECORD=hostile
    )
    assert (code, outputs["verdict"]) == (2, "error")
    assert list((tmp_path / "work").iterdir()) == []


def test_every_input_goes_through_the_environment():
    names = re.findall(r"^(\S+):$", section("inputs"), re.MULTILINE)
    environment = dict(re.findall(r"^ +([A-Z_]+): \$\{\{ inputs\.([a-z-]+) \}\}$", step("Check"), re.MULTILINE))
    assert sorted(environment.values()) == sorted(names)
    assert tuple(environment) == INPUTS
    assert "${{" not in script("Check")
    assert "${{" not in step("Install gapfinder")
    described = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    assert [name for name in names if f"| `{name}` |" not in described] == []


def test_the_outputs_are_those_of_the_step():
    values = re.findall(r"value: \$\{\{ steps\.check\.outputs\.(\w+) \}\}", section("outputs"))
    assert values == re.findall(r'echo "(\w+)=', script("Check")) == ["verdict", "report"]
