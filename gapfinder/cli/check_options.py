"""The options that `gapfinder check` and `gapfinder baseline` share, and where baselines are."""

from __future__ import annotations

from pathlib import Path

import click

store_option = click.option(
    "--store",
    type=click.Path(path_type=Path),
    help="Folder of baselines; the nearest .gapfinder/baselines upwards when not given.",
)


def store_folder(store: Path | None) -> Path:
    """Return the folder of baselines that the option names, else the default one."""
    from gapfinder.compare.store import default_store

    return default_store(Path()) if store is None else store
