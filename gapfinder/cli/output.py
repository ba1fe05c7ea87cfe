"""Writes results: whole or not at all, and over nothing that is there unless told to."""

from __future__ import annotations

import os
import stat
import sys
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gapfinder.cli.streams import say
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable


def check_output(path: Path, *, inputs: Iterable[Path], force: bool) -> None:
    """Raise InputError where `path` may not be written; called before long work."""
    found = _status(path)
    folder = _followed(path).parent
    if found is None and not is_folder(folder):
        raise InputError(f"no such folder: {folder}")
    if found is not None:
        if stat.S_ISDIR(found.st_mode):
            raise InputError(f"{path} is a folder; name a file")
        if not stat.S_ISREG(found.st_mode):
            raise InputError(f"{path} is no regular file; name another output")
        if any(_is_at(other, found) for other in inputs):
            raise InputError(f"{path} is an input; name another output")
        if not force:
            raise _exists(path)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError(f"cannot write {path}: no permission to write into {folder}")


def write_output(path: Path, *, write: Callable[[Path], object], force: bool) -> None:
    """Let `write` fill a file beside `path`, put it in its place and say so; a link is followed."""
    target = _followed(path)
    part = target.with_name(f".gapfinder-{os.urandom(8).hex()}.part")
    try:
        write(part)
        _put(part, target, force=force)
    except FileExistsError as error:
        raise _exists(path) from error
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)
    say(f"Wrote {path}")


def write_text(path: Path, text: str, *, force: bool) -> None:
    """Write a file that holds `text`, as `write_output` does."""
    write_output(path, write=lambda part: part.write_text(text, encoding="utf-8"), force=force)


def put_report(render: Callable[..., str], *, output: Path | None, force: bool) -> None:
    """Write the report to a file, or print it where there is none; `render` takes `is_terminal`, by name."""
    if output is None:
        click.echo(render(is_terminal=sys.stdout.isatty()), nl=False)
    else:
        write_text(output, render(is_terminal=False), force=force)


def is_folder(path: Path) -> bool:
    """Return whether an output is a folder; InputError where that cannot be told."""
    found = _status(path)
    return found is not None and stat.S_ISDIR(found.st_mode)


def _put(part: Path, target: Path, *, force: bool) -> None:
    """Give `part` its name; without `force` the system refuses a name that is taken, even since it was checked."""
    if force:
        part.replace(target)
        return
    try:
        os.link(part, target)
    except FileExistsError:
        raise
    except OSError:  # not every file system has links
        target.touch(exist_ok=False)
        part.replace(target)


def _status(path: Path) -> os.stat_result | None:
    """Return what is at `path`, links followed; None where nothing is."""
    try:
        return path.stat()
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error


def _followed(path: Path) -> Path:
    return Path(os.path.realpath(path)) if path.is_symlink() else path


def _is_at(other: Path, found: os.stat_result) -> bool:
    try:
        return os.path.samestat(other.stat(), found)
    except OSError:
        return False


def _exists(path: Path) -> InputError:
    return InputError(f"{path} exists; name another file, or overwrite it with --force")
