"""The options of `gapfinder check` and `gapfinder baseline`, and where the baselines and the reports go."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from gapfinder.cli.completion import complete_compared
from gapfinder.cli.gathering import gathered
from gapfinder.cli.options import format_option
from gapfinder.errors import InputError
from gapfinder.settings import Settings, read_settings

Command = Callable[..., Any]

FORMATS = ("text", "json", "markdown", "junit", "github")
_DIFFERENCES = ("gpus", "gpu-model", "ranks", "window", "min-gap", "program")

store_option = click.option(
    "--store",
    type=click.Path(path_type=Path),
    help="Folder of baselines; the nearest .gapfinder/baselines upwards when not given.",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class HistoryWanted:
    """What a user wrote about the history."""

    against_history: str | None
    history_runs: int
    history: Path | None
    record: str | None
    no_record: bool

    @property
    def names_a_history(self) -> bool:
        """Whether a history is wanted also where there is none yet."""
        return any(value is not None for value in (self.against_history, self.history, self.record))


history_options = gathered(
    "wanted",
    HistoryWanted,
    click.option(
        "--against-history",
        metavar="BRANCH",
        help="Compare with the accepted runs of this branch, in place of a baseline.",
    ),
    click.option(
        "--history-runs",
        metavar="N",
        type=click.IntRange(1, 20),
        default=5,
        help="With how many of them, the last ones; 5 when not given.",
    ),
    click.option(
        "--history",
        metavar="FILE",
        type=click.Path(path_type=Path),
        help="File of the history; the nearest .gapfinder/history.db upwards when not given.",
    ),
    click.option(
        "--record",
        metavar="BRANCH",
        help="Store the run in the history as one of this branch; that of git when not given.",
    ),
    click.option("--no-record", is_flag=True, help="Store nothing in the history."),
)


def checking_options(command: Command) -> Command:
    """Add what decides the verdict, and what reports are made."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def store_folder(store: Path | None) -> Path:
    """Return the folder of baselines that the option names, else that of the settings file, else the default one."""
    from gapfinder.compare.reference import store_folder as folder_of

    return folder_of(store, settings=Settings() if store is not None else read_settings(start=Path()))


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
        shell_complete=complete_compared,
        help="A stored baseline, its JSON file, or an older profile; the stored baseline main when not given.",
    ),
    history_options,
    click.option(
        "--fail-on",
        metavar="LIMIT",
        multiple=True,
        help="In place of the default limits, such as overlap_ratio<0.7 or exposed_ms_per_step:+10%; may be repeated.",
    ),
    click.option(
        "--allow-different",
        multiple=True,
        type=click.Choice(_DIFFERENCES),
        help="Compare although this differs; may be repeated.",
    ),
    store_option,
    format_option(*FORMATS),
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
