"""What a shell is told to complete, as the script for bash, zsh or fish asks for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.shell_completion import ShellComplete

from gapfinder.cli.app import commands

ROOT = Path(__file__).parents[2]


def completed(*words: str) -> list[tuple[str, str]]:
    """What is offered in place of the last of the words: its kind and its text."""
    *before, begun = words
    completion = ShellComplete(commands, {}, "gapfinder", "_GAPFINDER_COMPLETE")
    return [(item.type, item.value) for item in completion.get_completions(before, begun)]


def plain(*words: str) -> list[tuple[str, str]]:
    return [("plain", word) for word in words]


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (("an",), ("analyze",)),
        (("estimate", "all-"), ("all-reduce", "all-gather", "all-to-all")),
        (("analyze", "--form"), ("--format",)),
        (("analyze", "--format", "h"), ("html",)),
        (("explain", "overlap-br"), ("overlap-broken",)),
        (("history", "trend", "exposed_ms"), ("exposed_ms_per_step",)),
        (("explain", "nothing-like-it"), ()),
    ],
)
def test_words_are_completed(words, offered):
    assert completed(*words) == plain(*offered)


@pytest.mark.parametrize(
    "words",
    [
        ("run", "tr"),
        ("run", "--", "torchrun", "tr"),
        ("analyze", "ru"),
        ("diff", "ru"),
        ("diff", "a", "ru"),
        ("check", "new", "--baseline", "ru"),
    ],
)
def test_a_shell_is_left_to_complete_files(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert completed(*words) == [("file", words[-1])]


def test_stored_baselines_are_completed(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert completed("baseline", "show", "") == []
    store = tmp_path / "kept"
    store.mkdir()
    for name in ("main", "mine", "other"):
        (store / f"{name}.json").touch()
    kept = ("--store", str(store))
    assert completed("diff", *kept, "m") == completed("diff", *kept, "a", "m") == plain("main", "mine")
    assert completed("diff", *kept, "x") == [("file", "x")]
    assert completed("baseline", "rm", *kept, "o") == plain("other")
    assert completed("baseline", "show", "--store", str(store), "m") == plain("main", "mine")
    assert completed("check", "new", "--store", str(store), "--baseline", "m") == plain("main", "mine")


def test_settings_that_cannot_be_read_are_no_matter_for_a_completion(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "gapfinder.toml").write_text("this is no TOML", encoding="utf-8")
    assert completed("baseline", "show", "m") == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not on PATH")
def test_bash_completes_with_the_line_that_the_documents_give(tmp_path):
    (line,) = {
        line
        for line in (ROOT / "docs" / "commands.md").read_text(encoding="utf-8").splitlines()
        if "bash_source" in line
    }
    script = tmp_path / "gapfinder"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -c "from gapfinder.cli import main; main()" "$@"\n')
    script.chmod(0o755)
    asked = f"""{line}
    COMP_WORDS=(gapfinder collec) COMP_CWORD=1
    "$(complete -p gapfinder | sed -E 's/.*-F (\\S+) .*/\\1/')" gapfinder
    echo "${{COMPREPLY[@]}}"
    """
    environment = os.environ | {"PATH": f"{tmp_path}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-c", asked], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.returncode) == ("collectives\n", 0), done.stderr
