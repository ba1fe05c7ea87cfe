"""`gapfinder scrub`: a report to a copy that can be shared."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gapfinder.cli.output import check_output, write_output
from gapfinder.cli.streams import say
from gapfinder.cli.terminal import progress_line
from gapfinder.errors import InputError, visible
from gapfinder.units import format_count, format_shown, parse_window

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gapfinder.scrub import Scrubbed

_MOST_NAMES = 20
_ENUM = "ENUM_"


@click.command(no_args_is_help=True)
@click.argument("report", metavar="IN", type=click.Path(path_type=Path))
@click.argument("output", metavar="OUT", type=click.Path(path_type=Path))
@click.option("--window", metavar="START:END", help="Only what touches this time on the report's clock, whole.")
@click.option("--hide", "words", metavar="TEXT", multiple=True, help="A name to take out as well; may be repeated.")
@click.option("--force", is_flag=True, help="Overwrite OUT.")
def scrub(report: Path, output: Path, *, window: str | None, words: tuple[str, ...], force: bool) -> None:
    """Write a copy of a report that can be shared.

    The copy has every number, and nothing that tells whose machine it was.

    IN is a report of nsys (.nsys-rep, .qdrep, .qdstrm) or its export (.sqlite, .sqlite.gz, .sqlite.zst); OUT is a
    SQLite export. Environment, command lines, hosts, users and paths are left out; look at OUT before you share it.
    """
    times = None if window is None else parse_window(window)
    if output.suffix != ".sqlite":
        raise InputError(f"{output} would not be known as an export; name a file that ends in .sqlite")
    check_output(output, inputs=[report], force=force)

    from gapfinder.scrub import scrub as copy

    def write(part: Path) -> None:
        with progress_line("Copying"):
            copied = copy(report, part, window=times, words=words)
        for line in _told(copied):
            say(line)

    write_output(output, write=write, force=force)


def _told(copied: Scrubbed) -> list[str]:
    """Say what is in the copy and what is not."""
    rows = format_count(sum(copied.rows.values()), "row")
    taken_out = [f"{kind}: {format_count(number)}" for kind, number in copied.taken_out.items()]
    tables = [name for name in copied.left_out_tables if not name.startswith(_ENUM)]
    enums = len(copied.left_out_tables) - len(tables)
    tables += [f"{format_count(enums, 'table')} of {_ENUM}*"] if enums else []
    return [
        f"Kept {rows} of {format_count(len(copied.rows), 'table')}",
        f"Replaced: {', '.join(taken_out) or 'nothing'}",
        f"Left out: {format_count(copied.strings_left_out, 'string')} that nothing refers to",
        f"Left out tables: {_names(tables)}",
        f"Left out columns: {_names(copied.left_out_columns)}",
    ]


def _names(names: Sequence[str]) -> str:
    shown = ", ".join(visible(name[:100]) for name in names[:_MOST_NAMES])
    if len(names) <= _MOST_NAMES:
        return shown or "none"
    return f"{shown} ({format_shown(_MOST_NAMES, len(names), 'name')})"
