"""Who a file is: by its content, and by what the file system says about it while it stays in its place."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gapfinder.errors import InputError
from gapfinder.load.checks import FileState, file_state

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_ID_DIGITS = 32


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownFile:
    """One file of a profile: where it is, its state when it was last read whole, and the SHA-256 of its content."""

    path: Path
    state: FileState
    sha256: str


def identify(path: Path) -> KnownFile:
    """Return who a file is; InputError where it cannot be read, or is written to meanwhile."""
    before = file_state(path)
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from error
    if file_state(path) != before:
        raise InputError(f"{path} changed while it was read; wait until the run that writes it has ended")
    return KnownFile(path=path, state=before, sha256=digest)


def profile_id(digests: Iterable[str]) -> str:
    """Return the id of the profile that files with these SHA-256 make, in whatever order they are named."""
    return hashlib.sha256("\n".join(sorted(set(digests))).encode()).hexdigest()[:_ID_DIGITS]


def trouble_with(files: Iterable[KnownFile]) -> str | None:
    """Return what happened to files that stay where they are, in one sentence; None where they are as they were."""
    for file in files:
        try:
            state = file_state(file.path)
        except InputError:
            return f"{file.path} is no longer there; put it back to measure it again, what was measured before stays"
        if state != file.state:
            return f"{file.path} changed since it was added; add it again to see what is in it now"
    return None
