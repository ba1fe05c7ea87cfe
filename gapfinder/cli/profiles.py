"""The profiles that a command was given: which files they are, and loading them one after the other."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

from gapfinder.cli.terminal import progress_line
from gapfinder.errors import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gapfinder.load import Profile


def given_profiles(profiles: Sequence[Path], *, config: Path | None) -> tuple[list[Path], list[Path]]:
    """Return the files to load, and everything that an output must not be written over."""
    from gapfinder.load import find_profiles

    files = list(find_profiles(profiles))
    return files, [*files, *_beside(profiles), *filter(None, [config])]


def _beside(profiles: Sequence[Path]) -> Iterator[Path]:
    """Yield every profile in the folders that were named: also those that gave way to another of their name."""
    from gapfinder.load.find import PROFILE_SUFFIXES, paths_meant

    for folder in chain.from_iterable(map(paths_meant, profiles)):
        if folder.is_dir():
            yield from (entry for entry in folder.iterdir() if entry.name.endswith(PROFILE_SUFFIXES))


def load_profiles(paths: Sequence[Path]) -> Iterator[Profile]:
    """Load one profile after the other, so that only one is in memory; a terminal shows which."""
    from rich.markup import escape

    from gapfinder.load import load_profile

    with progress_line() as status:
        for number, path in enumerate(paths, start=1):
            status.update(f"Measuring {escape(visible(str(path)))} ({number} of {len(paths)})")
            yield load_profile(path)


def folder_name(path: Path) -> str | None:
    """Return what a folder is called on a dashboard, which knows the name of a file itself."""
    return path.resolve().name if path.is_dir() else None
