"""Loads profiles for every command that measures, and shows on a terminal which one."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from gapfinder.errors import visible

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from gapfinder.load import Profile


def load_profiles(paths: Sequence[Path]) -> Iterator[Profile]:
    """Load one profile after the other, so that only one is in memory; a terminal shows which."""
    from rich.console import Console
    from rich.markup import escape

    from gapfinder.load import load_profile

    is_terminal = sys.stderr is not None and sys.stderr.isatty()
    with Console(stderr=True, quiet=not is_terminal).status("") as status:
        for number, path in enumerate(paths, start=1):
            status.update(f"Measuring {escape(visible(str(path)))} ({number} of {len(paths)})")
            yield load_profile(path)
