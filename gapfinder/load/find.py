"""Finds the profiles that a user's files and folders stand for."""

from __future__ import annotations

import stat
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
        InputError: a path does not exist or cannot be read, or a folder holds no profile.
    """
    found: dict[Path, Path] = {}
    for path in paths:
        for real, file in _files(path):
            found.setdefault(real, file)
    return sorted(found.values())


def _files(path: Path) -> list[tuple[Path, Path]]:
    """Return the files that a path stands for, each with its real place."""
    try:
        files = _in_folder(path) if stat.S_ISDIR(path.stat().st_mode) else [path]
        return [(file.resolve(), file) for file in files]
    except (FileNotFoundError, NotADirectoryError) as error:
        raise InputError(f"no such file or folder: {path}") from error
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error


def _in_folder(folder: Path) -> Iterable[Path]:
    entries = sorted(entry for entry in folder.iterdir() if entry.is_file())
    best: dict[str, Path] = {}
    for suffix in PROFILE_SUFFIXES:
        for entry in entries:
            if entry.name.endswith(suffix):
                best.setdefault(entry.name.removesuffix(suffix), entry)
    if not best:
        raise InputError(
            f"no profiles in the folder {folder} (folders in it are not searched); looked for names ending in "
            f"{', '.join(PROFILE_SUFFIXES)}"
        )
    return best.values()
