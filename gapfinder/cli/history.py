"""`gapfinder history`: stored runs, and how they develop."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from gapfinder.cli.completion import complete_metrics
from gapfinder.cli.history_changes import accept, add, rm
from gapfinder.cli.history_options import history_file, history_store_option, print_sheet, sheet_format_option

if TYPE_CHECKING:
    from pathlib import Path


@click.group()
def history() -> None:
    """Keep measured runs, and show how a metric develops.

    All runs are in one SQLite file, which other programs may read.
    """


@history.command("list")
@click.option("--branch", help="Only the runs of this branch.")
@history_store_option
@sheet_format_option
def list_(*, branch: str | None, store: Path | None, form: str) -> None:
    """List the runs, oldest first."""
    from gapfinder.compare.history import runs
    from gapfinder.render.history import runs_sheet

    file = history_file(store)
    print_sheet(runs_sheet(runs(file, branch=branch), store=str(file)), form=form)


@history.command(no_args_is_help=True)
@click.argument("number", metavar="RUN", type=int)
@history_store_option
@sheet_format_option
def show(number: int, *, store: Path | None, form: str) -> None:
    """Show one run: its metrics and findings."""
    from gapfinder.compare.history import find_run, metric_values
    from gapfinder.compare.metrics import METRICS
    from gapfinder.render.history import run_sheet

    run, snapshot = find_run(history_file(store), number)
    print_sheet(run_sheet(run, snapshot, metrics=metric_values(snapshot), known=METRICS), form=form)


@history.command()
@click.argument("metric", default="overlap_ratio", shell_complete=complete_metrics)
@click.option("--branch", default="main", help="Whose runs; main when not given.")
@history_store_option
@sheet_format_option
def trend(metric: str, *, branch: str, store: Path | None, form: str) -> None:
    """Show a metric over runs, with marks where its level changed.

    The metrics, overlap_ratio when none is given, are those of gapfinder check.
    """
    from gapfinder.compare.history import trend as trend_of
    from gapfinder.compare.metrics import find_metric
    from gapfinder.errors import InconclusiveError
    from gapfinder.render.history import trend_sheet

    found = trend_of(history_file(store), metric=find_metric(metric), branch=branch)
    if not found.points:
        raise InconclusiveError(f"no run of {branch} in the history; see `gapfinder history list`")
    print_sheet(trend_sheet(found), form=form)


history.add_command(accept)
history.add_command(add)
history.add_command(rm)
