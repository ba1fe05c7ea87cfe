"""The worst of the hostile files through whole processes, as a shell runs them: exit code, one line, nothing else."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hostile_base import sound_bytes, written
from hostile_files import all_cases
from hostile_runs import ROOT

CASES = {case.name: case for case in all_cases()}
REFUSED = (
    ("check", "an endless view in place of CUPTI_ACTIVITY_KIND_KERNEL", "is not an ordinary table"),
    ("diff", "a zst that unpacks a thousandfold", "times its size"),
    ("check", "a statement of other bytes", "SQLite cannot read it"),
    ("diff", "5,000 lanes", "5,000 (process, device) pairs"),
    ("check", "the largest number", "has a time of"),
)
"""Command, file, and what its line says."""


def gapfinder(*arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (sys.executable, "-m", "gapfinder", *map(str, arguments)),
        check=False,
        capture_output=True,
        text=True,
        timeout=120,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
    )


@pytest.mark.parametrize(("command", "name", "words"), REFUSED)
def test_a_refused_file_is_one_line_and_exit_code_2(command, name, words, tmp_path):
    path = CASES[name].make(tmp_path)
    (tmp_path / "other").mkdir()
    other = written(sound_bytes())(tmp_path / "other")
    more = {"check": ("--fail-on", "idle_share>99%", "--no-record"), "diff": (other,)}[command]
    done = gapfinder(command, path, *more)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("gapfinder: error: ")
    assert words in done.stderr


def test_a_file_of_terminal_codes_is_checked_and_shows_none(tmp_path):
    path = CASES["terminal in the name of a kernel"].make(tmp_path)
    done = gapfinder("check", path, "--fail-on", "idle_share>1%", "--no-record")
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    assert (done.stdout + done.stderr).replace("\n", "").isprintable()


def test_an_upload_to_no_dashboard_is_one_line(tmp_path):
    path = CASES["an endless view in place of CUPTI_ACTIVITY_KIND_KERNEL"].make(tmp_path)
    done = gapfinder("upload", path, "--to", "ftp://127.0.0.1/")
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert done.stderr.startswith("gapfinder: error: ")
