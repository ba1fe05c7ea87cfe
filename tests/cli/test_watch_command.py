"""`gapfinder watch` and `gapfinder capture-now` where no training starts."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from gapfinder.cli.app import commands
from gapfinder.cli.watch_options import watch_options
from gapfinder.watch.asking import ask_for_capture, is_asked
from gapfinder.watch.model import WatchState
from gapfinder.watch.policy import CapturePolicy
from gapfinder.watch.record import Record
from gapfinder.watch.rules import Rules

HELP = """#!/bin/sh
case "$1 $2" in
--version*) echo "NVIDIA Nsight Systems version 2022.4.2.1-x";;
"launch --help") printf '\\t--session-new=\\n\\t--trace=\\n';;
"start --help") printf '\\t--session=\\n\\t--sample=\\n';;
*) echo "the agent cannot be started" >&2; exit 1;;
esac
"""


@pytest.fixture
def broken(tmp_path, monkeypatch) -> str:
    """An nsys that knows its options, and cannot start a program."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nsys").write_text(HELP)
    (tmp_path / "nsys").chmod(0o755)
    return str(tmp_path / "nsys")


def run(*words: str):
    return CliRunner().invoke(commands, list(words))


def watch_in(folder: Path, *, pid: int, ended_at: float | None = None, host: str | None = None) -> Path:
    folder.mkdir(parents=True)
    state = WatchState(
        name="train", command=("train",), host=host or socket.gethostname(), pid=pid, started_at=1.0, ended_at=ended_at
    )
    Record(folder, report=print).write_state(state)
    return folder


def test_an_nsys_that_starts_nothing_is_an_error_before_the_training(broken):
    done = run("watch", "--nsys", broken, "-o", "out", "touch", "trained")
    assert done.exit_code == 4
    assert (
        "nsys launch ended with exit code 1: the agent cannot be started; the training was not started" in done.stderr
    )
    assert not Path("trained").exists()


def test_a_missing_nsys_is_an_error_before_the_training(broken):
    done = run("watch", "--nsys", "no-such-nsys", "touch", "trained")
    assert done.exit_code == 4
    assert not Path("trained").exists()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--drift", "0", "touch"), "every step would be slow"),
        (("--drift", "much", "touch"), "not a ratio"),
        (("--cool-down", "5", "touch"), "not a duration"),
        (("--budget", "20", "touch"), "not a size"),
        (("--stall", "0.5", "touch"), "0.5"),
        (("no-such-program",), "is no program on PATH"),
    ],
)
def test_bad_options_are_one_line(broken, words, told):
    done = run("watch", "--nsys", broken, *words)
    assert done.exit_code == 2
    assert told in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_what_no_option_says_is_what_rules_and_policy_have_by_themselves():
    given = {}

    @click.command()
    @watch_options
    def told(*, wanted):
        given["wanted"] = wanted

    assert CliRunner().invoke(told, ["--lag", "30%", "--every", "1s"]).exit_code == 0
    assert given["wanted"].rules() == Rules(lag=0.3, every_ns=1_000_000_000)
    assert given["wanted"].policy() == CapturePolicy()


def test_nobody_is_asked_where_no_watch_is_alive(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "there is no watch" in run("capture-now").stderr
    gone = subprocess.Popen([sys.executable, "-c", ""])
    gone.wait()
    for name, about in {
        "ended": {"pid": os.getpid(), "ended_at": 2.0},
        "gone": {"pid": gone.pid},
        "elsewhere": {"pid": os.getpid(), "host": "another"},
    }.items():
        watch_in(tmp_path / "gapfinder-runs" / name, **about)
    done = run("capture-now")
    assert done.exit_code == 2
    assert "it holds 3 watches, and none runs on this machine any more" in done.stderr


def test_a_watch_that_is_asked_knows_it_once(tmp_path):
    folder = watch_in(tmp_path / "runs" / "alive", pid=os.getpid())
    assert not is_asked(folder)
    assert ask_for_capture(tmp_path / "runs") == folder
    assert is_asked(folder)
    assert not is_asked(folder)
