"""The run folder: always a new one, whose files appear whole under their names."""

from __future__ import annotations

import os
import re
import shutil
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

RUNS_FOLDER = "gapfinder-runs"
SCRATCH_FOLDER = ".capture"
STATUS_FOLDER = "processes"
_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")
_LONGEST_NAME = 60


def new_run_folder(output: Path | None, *, name: str, now: datetime) -> Path:
    """Make and return the folder `output`, else one named after the time and what is run; nobody else gets the same.

    Raises InputError where it cannot be made, or holds something already.
    """
    try:
        if output is not None:
            output.mkdir(parents=True, exist_ok=True)
            if any(output.iterdir()):
                raise InputError(f"{output} is not empty; name a new folder for this run")
            return _with_parts(output)
        Path(RUNS_FOLDER).mkdir(exist_ok=True)
        for folder in _names(name, now=now):
            with suppress(FileExistsError):
                folder.mkdir()
                return _with_parts(folder)
    except OSError as error:
        raise InputError(
            f"cannot make the run folder {output or RUNS_FOLDER}: {error.strerror}; name another with --output"
        ) from error
    raise AssertionError("count() never ends")


def write_whole(path: Path, text: str) -> None:
    """Write a file of the run folder: whoever looks sees the old one or the whole new one; else InputError."""
    part = path.with_name(f".{path.name}.{os.urandom(4).hex()}.part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def put_beside(export: Path, target: Path) -> None:
    """Give the cache's file a second name; where the file system cannot, copy it. Raises InputError."""
    try:
        os.link(export, target)
    except OSError:
        part = target.with_name(f".{target.name}.part")
        try:
            shutil.copyfile(export, part)
            part.replace(target)
        except OSError as error:
            raise InputError(f"cannot write {target}: {error.strerror}") from error
        finally:
            part.unlink(missing_ok=True)


def _names(name: str, *, now: datetime) -> Iterator[Path]:
    told = _UNUSUAL.sub("-", name).strip("-.")[:_LONGEST_NAME] or "run"
    base = f"{now:%Y-%m-%d_%H%M%S}-{told}"
    for number in count(1):
        yield Path(RUNS_FOLDER) / (base if number == 1 else f"{base}-{number}")


def _with_parts(folder: Path) -> Path:
    for part in (SCRATCH_FOLDER, STATUS_FOLDER):
        (folder / part).mkdir()
    return folder
