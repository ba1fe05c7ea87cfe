"""Finds the profiles that a user's files and folders stand for."""

from __future__ import annotations

import glob
import os
import re
import stat
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.errors import InputError
from gapfinder.export import REPORT_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

PROFILE_SUFFIXES = (".sqlite", ".sqlite.gz", ".sqlite.zst", *REPORT_SUFFIXES)
"""Names a profile has, best first: of two files with one stem in a folder only the best is taken."""


def find_profiles(paths: Sequence[Path]) -> list[Path]:
    """Return the files that are meant, each once, in order; a folder stands for the profiles directly in it.

    Numbers in names count as numbers: rank_2 comes before rank_10.

    A path with `*`, `?` or `[` that does not exist is a pattern, as a shell takes it, with `**` for any folders.

    Raises:
        InputError: a path does not exist or cannot be read, or a folder holds no profile, or nothing fits a pattern.
    """
    found: dict[Path, Path] = {}
    for path in chain.from_iterable(map(paths_meant, paths)):
        for real, file in _files(path):
            found.setdefault(real, file)
    return sorted(found.values(), key=_in_order)


def paths_meant(path: Path) -> list[Path]:
    """Return what fits a pattern, in order; any other path by itself."""
    if not glob.has_magic(str(path)) or os.path.lexists(path):
        return [path]
    fitting = [Path(name) for name in sorted(glob.glob(str(path), recursive=True))]  # noqa: PTH207 (absolute ones too)
    if not fitting:
        raise InputError(f"no file or folder fits {path}")
    return fitting


def _in_order(path: Path) -> tuple[list[list[str | int]], Path]:
    # Every second piece is a number, so that like is compared with like.
    pieces = [re.split(r"(\d+)", part) for part in path.parts]
    return [[int(piece) if at % 2 else piece for at, piece in enumerate(part)] for part in pieces], path


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
