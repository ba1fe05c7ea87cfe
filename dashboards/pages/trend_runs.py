"""The history that trends are made of: records what was prepared, and finds the runs there are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dashboards.data.recording import BRANCH, profile_ids, record_profile
from gapfinder.compare.history import default_store, runs
from gapfinder.errors import GapfinderError, InputError

if TYPE_CHECKING:
    from dashboards.view import View
    from gapfinder.compare.history import Run


@dataclass(frozen=True, slots=True)
class Branch:
    """One branch of one history."""

    file: Path
    name: str
    runs: tuple[Run, ...]


def history_files(view: View) -> list[Path]:
    """Return the histories there are: that of the dashboard, and the nearest one to where the server runs."""
    nearest = default_store(Path())
    files = [] if view.history is None else [view.history]
    return [file for file in dict.fromkeys([*files, nearest]) if file.exists()]


def record_prepared(view: View) -> list[str]:
    """Record each prepared profile that the history still lacks, and return what could not be, and why.

    A worker records what it prepared; this is for what was prepared before there were histories, or could not be then.
    """
    if view.history is None:
        return []
    known = set(profile_ids(_readable(view.history)[0]).values())
    failed = []
    for stored in reversed(view.store.profiles()):
        if stored.is_ready and stored.id not in known:
            try:
                record_profile(view.profiles.get(stored.id), history=view.history)
            except GapfinderError as error:
                failed.append(f"{stored.name} is not in the history: {error}")
    return failed


def branches(view: View) -> tuple[list[Branch], list[str]]:
    """Return every branch of every history, the dashboard's own first, and why a history cannot be read."""
    found, unreadable = [], []
    for file in history_files(view):
        there, reason = _readable(file)
        unreadable += [] if reason is None else [reason]
        names = sorted({run.branch for run in there}, key=lambda name: (name != BRANCH, name))
        found += [Branch(file, name, tuple(run for run in there if run.branch == name)) for name in names]
    return found, unreadable


def _readable(file: Path) -> tuple[tuple[Run, ...], str | None]:
    """Return the runs of a history, and why there are none where it cannot be read."""
    if not file.exists():
        return (), None
    try:
        return runs(file), None
    except InputError as error:
        return (), str(error)
