"""`gapfinder capture-now`: asks a watch for a capture."""

from __future__ import annotations

from pathlib import Path

import click

from gapfinder.cli.streams import say


@click.command("capture-now")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
def capture_now(*, folder: Path | None) -> None:
    """Ask a watch that runs on this machine for a capture.

    FOLDER is the watch's, or one that holds watches, of which the newest that runs is asked; gapfinder-runs when not
    given.
    """
    from gapfinder.watch.asking import ask_for_capture

    say(f"gapfinder: asked the watch in {ask_for_capture(folder)} for a capture")
