"""Measures profiles for a comparison."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from gapfinder.analysis import analyze
from gapfinder.compare.take import take_snapshot
from gapfinder.findings import explained
from gapfinder.load import find_profiles, load_profile

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from gapfinder.compare.snapshot import Snapshot
    from gapfinder.load import Profile
    from gapfinder.settings import Settings

    Load = Callable[[Sequence[Path]], Iterable[Profile]]


def load_each(files: Sequence[Path]) -> Iterable[Profile]:
    """Load one profile after the other, so that only one is in memory."""
    return map(load_profile, files)


def measure(
    profiles: Sequence[Path], *, settings: Settings, commit: str | None = None, load: Load = load_each
) -> Snapshot:
    """Return a snapshot of profiles, or of the folders they are in."""
    analysis = explained(analyze(load(find_profiles(profiles)), settings=settings))
    return take_snapshot(analysis, settings=settings, commit=commit, created=datetime.now(UTC))
