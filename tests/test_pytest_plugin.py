"""The pytest plug-in in a pytest of its own: it passes, fails and refuses as the command does, and loads nothing early."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SAMPLES = ROOT / "sample_profiles"
TESTS = f"""
import sys
import pytest
import gapfinder.errors

def test_nothing_heavy_is_loaded_before_it_is_used():
    assert not {{"numpy", "pandas", "click"}} & sys.modules.keys()

def test_high(gapfinder_profile):
    gapfinder_profile.assert_overlap(min=0.7)
    gapfinder_profile.assert_overlap(0.9, scope="every")

def test_too_high(gapfinder_profile):
    gapfinder_profile.assert_overlap(min=0.99)

def test_regression(gapfinder_profile):
    gapfinder_profile.assert_no_regression(baseline={str(SAMPLES / "slow_rank.sqlite")!r})

@pytest.mark.gapfinder_profile({str(SAMPLES / "broken_overlap.sqlite")!r})
def test_marked(gapfinder_profile):
    gapfinder_profile.assert_no_regression(fail_on=["overlap_ratio:-5pp"])

@pytest.mark.gapfinder_profile({str(SAMPLES / "cuda_graphs.sqlite")!r})
def test_graphs(gapfinder_profile):
    gapfinder_profile.assert_overlap(min=0.1)

@pytest.mark.gapfinder_profile({str(SAMPLES / "broken_overlap.sqlite")!r})
def test_verdict(gapfinder_profile):
    verdict = gapfinder_profile.check(fail_on=["overlap_ratio<0.5"])
    assert (verdict.outcome, verdict.breaches[0].finding) == ("fail", "overlap-broken")

def test_typo(gapfinder_profile):
    with pytest.raises(gapfinder.errors.InputError, match="not a ratio"):
        gapfinder_profile.assert_overlap(min=70)
"""


def pytest_in(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    (folder / "test_training.py").write_text(TESTS)
    command = [sys.executable, "-m", "pytest", "-p", "gapfinder.pytest_plugin", "-p", "no:cacheprovider", "-W", "error"]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*command, "-rA", "--strict-markers", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory) -> tuple[dict[str, str], str]:
    """Outcome of each test by its name, and everything that was said."""
    done = pytest_in(
        tmp_path_factory.mktemp("project"),
        f"--gapfinder-profile={SAMPLES / 'healthy.sqlite'}",
        f"--gapfinder-baseline={SAMPLES / 'healthy.sqlite'}",
    )
    lines = [line.split(" - ")[0].split() for line in done.stdout.splitlines() if "test_training.py::" in line]
    return {words[1].partition("::")[2]: words[0] for words in lines if len(words) == 2}, done.stdout


def test_each_assertion_ends_as_the_command_would(outcomes):
    assert outcomes[0] == {
        "test_nothing_heavy_is_loaded_before_it_is_used": "PASSED",
        "test_high": "PASSED",
        "test_too_high": "FAILED",
        "test_regression": "PASSED",
        "test_marked": "FAILED",
        "test_graphs": "FAILED",
        "test_verdict": "PASSED",
        "test_typo": "PASSED",
    }


def test_a_failure_says_why(outcomes):
    said = " ".join(outcomes[1].split())
    assert "which breaches the limit < 99.0 %" in said
    assert "overlap ratio of all 8 lanes fell from 95.0 % to 0.0 %" in said
    assert "INCONCLUSIVE, which is not a pass" in said
    assert "CUDA graphs were traced whole" in said


def test_without_a_profile_a_test_fails_and_says_what_to_give(tmp_path):
    done = pytest_in(tmp_path, "-k", "test_high")
    assert done.returncode == 1
    assert "give --gapfinder-profile PATH" in done.stdout


def test_the_plugin_is_registered_with_pytest():
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["entry-points"]["pytest11"] == {"gapfinder": "gapfinder.pytest_plugin"}
