"""The options that the commands of `gapfinder history` share, and how they print."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gapfinder.cli.options import format_option
from gapfinder.cli.terminal import text_layout
from gapfinder.settings import Settings, read_settings

if TYPE_CHECKING:
    from gapfinder.render.history import Sheet

history_store_option = click.option(
    "--store",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="File of the history; the nearest .gapfinder/history.db upwards when not given.",
)
sheet_format_option = format_option("text", "json", "markdown")


def history_file(store: Path | None) -> Path:
    """Return the file that the option names, else that of the settings file, else the default one."""
    from gapfinder.compare.reference import history_file as file_of

    return file_of(store, settings=Settings() if store is not None else read_settings(start=Path()))


def print_sheet(sheet: Sheet, *, form: str) -> None:
    """Print a sheet, for a terminal where there is one."""
    from gapfinder.render.history import render_sheet

    layout = text_layout(is_terminal=sys.stdout.isatty())
    click.echo(render_sheet(sheet, form=form, **layout), nl=False)
