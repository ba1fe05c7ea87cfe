"""Writes results: whole or not at all, and over nothing that is there unless told to."""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING

import click

from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def check_output(path: Path, *, inputs: tuple[Path, ...], force: bool) -> None:
    """Raise InputError where `path` may not be written; called before long work."""
    if path.is_dir():
        raise InputError(f"{path} is a folder; name a file")
    if not path.parent.is_dir():
        raise InputError(f"no such folder: {path.parent}")
    if not path.exists():
        return
    if any(other.exists() and path.samefile(other) for other in inputs):
        raise InputError(f"{path} is the input; name another output")
    if not force:
        raise InputError(f"{path} exists; name another file, or overwrite it with --force")


def write_output(path: Path, *, write: Callable[[Path], object], force: bool) -> None:
    """Let `write` fill a file beside `path`, put it in its place and say so."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        write(part)
        check_output(path, inputs=(), force=force)
        part.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    click.echo(f"Wrote {path}", err=True)
