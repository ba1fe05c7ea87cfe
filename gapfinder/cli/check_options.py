"""The options of `gapfinder check` and `gapfinder baseline`, and where the baselines and the reports go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import click

from gapfinder.errors import InputError

Command = TypeVar("Command", bound=Callable[..., Any])

FORMATS = ("text", "json", "markdown", "junit", "github")
_DIFFERENCES = ("gpus", "gpu-model", "ranks", "window", "min-gap", "program")

store_option = click.option(
    "--store",
    type=click.Path(path_type=Path),
    help="Folder of baselines; the nearest .gapfinder/baselines upwards when not given.",
)


def checking_options(command: Command) -> Command:
    """Add what decides the verdict, and what reports are made."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def store_folder(store: Path | None) -> Path:
    """Return the folder of baselines that the option names, else the default one."""
    from gapfinder.compare.store import default_store

    return default_store(Path()) if store is None else store


def _reports(_context: click.Context, _option: click.Parameter, texts: tuple[str, ...]) -> Mapping[Path, str]:
    """Return the format of each file that is to be written."""
    wanted: dict[Path, str] = {}
    for text in texts:
        form, _, file = text.partition("=")
        if form not in FORMATS or not file:
            raise InputError(f"not a report to write: {text!r}; write FORMAT=FILE with one of {', '.join(FORMATS)}")
        if Path(file) in wanted:
            raise InputError(f"two reports would be written to {file}")
        wanted[Path(file)] = form
    return wanted


_OPTIONS = (
    click.option(
        "--baseline",
        metavar="NAME|FILE|PROFILE",
        help="A stored baseline, its JSON file, or an older profile; the stored baseline main when not given.",
    ),
    click.option(
        "--fail-on",
        metavar="LIMIT",
        multiple=True,
        help="Such as overlap_ratio<0.7 or exposed_ms_per_step@worst:+10%; may be repeated.",
    ),
    click.option(
        "--allow-different",
        multiple=True,
        type=click.Choice(_DIFFERENCES),
        help="Compare although this differs; may be repeated.",
    ),
    store_option,
    click.option(
        "--format", "form", type=click.Choice(FORMATS), default="text", help="Kind of report; text when not given."
    ),
    click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write, in place of standard output."),
    click.option(
        "--write",
        "reports",
        metavar="FORMAT=FILE",
        multiple=True,
        callback=_reports,
        help="A further report, such as junit=check.xml; may be repeated.",
    ),
    click.option("--force", is_flag=True, help="Overwrite files."),
)
