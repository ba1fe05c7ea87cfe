"""The history that trends are made of: records what was prepared, and finds the runs there are."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dashboards.pages.compare import snapshot_of
from gapfinder.compare.history import Source, default_store, record, runs
from gapfinder.errors import GapfinderError, InputError

if TYPE_CHECKING:
    from dashboards.store.records import StoredProfile
    from dashboards.view import View
    from gapfinder.compare.history import Run

BRANCH = "dashboard"
"""What the dashboard records, it records as runs of this branch."""


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
    """Record each prepared profile that the dashboard's history lacks, and return what could not be, and why."""
    if view.history is None:
        return []
    known = set(profile_ids(_readable(view.history)[0]).values())
    failed = []
    for stored in reversed(view.store.profiles()):
        if stored.is_ready and stored.id not in known:
            try:
                _record(view, stored, view.history)
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


def profile_ids(found: tuple[Run, ...] | list[Run]) -> dict[int, str]:
    """Return the profile that each run of the dashboard was made from, by the run's number."""
    mine = {run.id: run.label for run in found if run.source == Source.DASHBOARD and run.label}
    return {number: label.rpartition(" [")[2].removesuffix("]") for number, label in mine.items()}


def _record(view: View, stored: StoredProfile, history: Path) -> None:
    profile = view.profiles.get(stored.id)
    if profile.analysis.lanes:
        label = f"{stored.name} [{stored.id}]"
        record(history, snapshot_of(profile), branch=BRANCH, source=Source.DASHBOARD, accepted=False, label=label)
