"""What git says of the code that is checked out; without git, or where it refuses, nothing is known."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import TYPE_CHECKING

from gapfinder.settings import nearest

if TYPE_CHECKING:
    from pathlib import Path

DEFAULT_BRANCH = "main"
DETACHED = "HEAD"
_COMMIT = re.compile(r"[0-9a-f]{40,64}")
_LONGEST_NAME = 250
_SECONDS = 10


def git_commit(folder: Path) -> str | None:
    """Return the commit that is checked out in `folder`; None where it is not known."""
    commit = _answer(folder, "rev-parse", "--verify", "HEAD")
    return commit if commit is not None and _COMMIT.fullmatch(commit) else None


def git_branch(folder: Path) -> str:
    """Return the branch that is checked out in `folder`: main outside a repository, HEAD where none can be told.

    A commit that is checked out without its branch, as CI does, is not to pass for one of main.
    """
    branch = _answer(folder, "symbolic-ref", "--quiet", "--short", "HEAD")
    if branch and branch.isprintable() and len(branch) <= _LONGEST_NAME:
        return branch
    return DEFAULT_BRANCH if nearest(".git", start=folder) is None else DETACHED


def _answer(folder: Path, *words: str) -> str | None:
    git = shutil.which("git")
    if git is None:
        return None
    command = [git, "-C", str(folder), *words]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SECONDS, check=False)  # noqa: S603
        return done.stdout.decode().strip() if done.returncode == 0 else None
    except (OSError, UnicodeDecodeError, subprocess.TimeoutExpired):
        return None
