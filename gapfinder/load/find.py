"""Finds the profiles that a user's files and folders stand for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gapfinder.errors import InputError
from gapfinder.export import REPORT_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

PROFILE_SUFFIXES = (".sqlite", ".sqlite.gz", ".sqlite.zst", *REPORT_SUFFIXES)
"""Names a profile has, best first: of two files with one stem in a folder only the best is taken."""


def find_profiles(paths: Sequence[Path]) -> list[Path]:
    """Return the files that are meant, each once, sorted; a folder stands for the profiles directly in it.

    Raises:
        InputError: a path does not exist, or a folder holds no profile.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        for file in _in_folder(path) if path.is_dir() else [path]:
            if not file.exists():
                raise InputError(f"no such file or folder: {file}")
            found.setdefault(file.resolve(), file)
    return sorted(found.values())


def _in_folder(folder: Path) -> Iterable[Path]:
    try:
        entries = sorted(entry for entry in folder.iterdir() if entry.is_file())
    except OSError as error:
        raise InputError(f"cannot list the folder {folder}: {error.strerror}") from error
    best: dict[str, Path] = {}
    for suffix in PROFILE_SUFFIXES:
        for entry in entries:
            if entry.name.endswith(suffix):
                best.setdefault(entry.name.removesuffix(suffix), entry)
    if not best:
        raise InputError(
            f"no profiles in the folder {folder}; looked for names ending in {', '.join(PROFILE_SUFFIXES)}"
        )
    return best.values()
