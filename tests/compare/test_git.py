"""What git says of a folder: its commit and its branch, and what is said where git says nothing."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from gapfinder.compare.git import git_branch, git_commit


def git(folder: Path, *words: str) -> str:
    command = ["git", "-C", str(folder), "-c", "user.name=a", "-c", "user.email=a@b", *words]
    return subprocess.run(command, check=True, timeout=30, capture_output=True, text=True).stdout.strip()


@pytest.fixture
def repository(tmp_path):
    git(tmp_path, "init", "-q", "-b", "feature/x")
    return tmp_path


def test_outside_a_repository_there_is_no_commit_and_the_branch_is_main(tmp_path):
    assert (git_commit(tmp_path), git_branch(tmp_path)) == (None, "main")


def test_commit_and_branch_are_those_that_are_checked_out(repository):
    assert (git_commit(repository), git_branch(repository)) == (None, "feature/x")
    git(repository, "commit", "-q", "--allow-empty", "-m", "first")
    assert git_commit(repository) == git(repository, "log", "--format=%H")
    below = repository / "below"
    below.mkdir()
    assert git_branch(below) == "feature/x"


def test_a_commit_without_its_branch_does_not_pass_for_main(repository):
    git(repository, "commit", "-q", "--allow-empty", "-m", "first")
    git(repository, "checkout", "-q", "--detach")
    assert git_branch(repository) == "HEAD"


def test_without_git_or_with_a_broken_repository_nothing_is_made_up(repository, monkeypatch):
    (repository / ".git" / "HEAD").write_bytes(b"\xff\x00")
    assert (git_commit(repository), git_branch(repository)) == (None, "HEAD")
    monkeypatch.setenv("PATH", str(repository))
    assert (git_commit(repository), git_branch(repository)) == (None, "HEAD")


def test_a_git_that_hangs_or_talks_nonsense_is_none(repository, monkeypatch):
    program = repository / "git"
    monkeypatch.setenv("PATH", f"{repository}:/usr/bin:/bin")
    monkeypatch.setattr("gapfinder.compare.git._SECONDS", 0.2)
    for script in ("sleep 5", "printf '\\033[31mmain\\nother'", "printf '\\377'", "exit 3"):
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        assert (git_commit(repository), git_branch(repository)) == (None, "HEAD")
