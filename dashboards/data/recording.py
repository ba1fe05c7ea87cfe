"""Records prepared profiles as runs of the dashboard's own history, each once."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gapfinder.compare.history import Source, record, runs
from gapfinder.compare.take import take_snapshot
from gapfinder.errors import InputError
from gapfinder.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from dashboards.data.opening import OpenProfile
    from gapfinder.compare.history import Run
    from gapfinder.compare.snapshot import Snapshot

BRANCH = "dashboard"
"""What the dashboard records, it records as runs of this branch."""


def snapshot_of(profile: OpenProfile) -> Snapshot:
    """Return what of a profile is compared; when it was added stands for when it was measured."""
    lanes = profile.analysis.lanes
    settings = Settings(min_gap_ns=lanes[0].gaps.min_gap_ns) if lanes else Settings()
    added = datetime.fromtimestamp(profile.stored.added_s, UTC)
    return take_snapshot(profile.analysis, settings=settings, commit=None, created=added)


def profile_ids(found: Iterable[Run]) -> dict[int, str]:
    """Return the profile that each run of the dashboard was made from, by the run's number."""
    mine = {run.id: run.label for run in found if run.source == Source.DASHBOARD and run.label}
    return {number: label.rpartition(" [")[2].removesuffix("]") for number, label in mine.items()}


def record_profile(profile: OpenProfile, *, history: Path) -> None:
    """Record a profile with GPU work; one that was prepared anew stays the run that it was.

    Raises:
        InputError: the history cannot be used.
    """
    stored = profile.stored
    if profile.analysis.lanes and stored.id not in _known(history):
        label = f"{stored.name} [{stored.id}]"
        record(history, snapshot_of(profile), branch=BRANCH, source=Source.DASHBOARD, accepted=False, label=label)


def _known(history: Path) -> set[str]:
    """Return the profiles that are runs; a history that cannot be read says so, or is mended, where it is written."""
    try:
        return set(profile_ids(runs(history)).values()) if history.exists() else set()
    except InputError:
        return set()
