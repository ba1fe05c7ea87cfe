"""`gapfinder watch`: a long training, with a capture whenever it matters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gapfinder.cli.streams import say
from gapfinder.cli.watch_options import watch_options

if TYPE_CHECKING:
    from gapfinder.cli.watch_options import WatchWanted


@click.command(no_args_is_help=True, context_settings={"allow_interspersed_args": False})
@click.argument("command", metavar="TRAIN.PY|COMMAND [ARGS]...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="New folder for all of it; in gapfinder-runs when not given.",
)
@watch_options
@click.option("--no-history", is_flag=True, help="Store nothing in the history.")
@click.option("--nsys", "nsys_path", metavar="PATH", help="The nsys to use, in place of the newest that is found.")
def watch(
    command: tuple[str, ...],
    *,
    output: Path | None,
    wanted: WatchWanted,
    no_history: bool,
    nsys_path: str | None,
) -> None:
    """Stay beside a long training; capture it when it slows down.

    A .py file is run with the first python on PATH; after -- stands any command, such as torchrun. Options of gapfinder
    come before either. nsys is there from the start and idle; each capture is analysed at once, and compared with the
    healthy one. Whatever becomes of gapfinder or nsys, the training goes on.

    The exit code is the training's own.
    """
    from gapfinder.capture.nsys import find_nsys
    from gapfinder.cli.run_request import nsys_words, training_name, training_words
    from gapfinder.cli.watch_report import report
    from gapfinder.watch.nsys_options import session_options
    from gapfinder.watch.supervise import WatchRequest, watch_training

    nsys = find_nsys(nsys_path)
    request = WatchRequest(
        training=training_words(command),
        name=training_name(command),
        rules=wanted.rules(),
        policy=wanted.policy(),
        capture_steps=wanted.capture_steps,
        options=session_options(nsys, nsys_args=nsys_words(wanted.nsys_args)),
        keeps_history=not no_history,
    )
    watched = watch_training(request, nsys=nsys, output=output, tell=lambda sentence: say(f"gapfinder: {sentence}"))
    report(watched)
    raise click.exceptions.Exit(watched.exit_code)
