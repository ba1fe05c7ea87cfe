"""Prepares a profile: measures its reports, and writes what pages need into a folder, whole or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from gapfinder.settings import Settings


def prepare_profile(
    files: Sequence[Path], *, folder: Path, settings: Settings, told: Callable[[str, float | None], None]
) -> None:
    """Measure `files` as one run and write its analysis and timeline to `folder`, which must not exist before.

    `told` hears what is being done and how far it is, from 0 to 1. A profile without GPU work is prepared as well:
    its analysis has no lanes, and its coverage says why.

    Raises:
        InputError, NsysError: a file cannot be used; one line for a reader.
    """
    raise NotImplementedError
