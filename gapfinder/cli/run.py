"""`gapfinder run`: a training under nsys, and its report."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gapfinder.cli.completion import complete_files
from gapfinder.cli.run_options import capture_options
from gapfinder.cli.streams import say

if TYPE_CHECKING:
    from gapfinder.cli.run_options import Wanted


@click.command(no_args_is_help=True, context_settings={"allow_interspersed_args": False})
@click.argument(
    "command",
    metavar="TRAIN.PY|COMMAND [ARGS]...",
    nargs=-1,
    required=True,
    type=click.UNPROCESSED,
    shell_complete=complete_files,
)
@click.option(
    "-o",
    "--output",
    metavar="FOLDER",
    type=click.Path(path_type=Path),
    help="New folder for all of it; in gapfinder-runs when not given.",
)
@capture_options
@click.option("--no-history", is_flag=True, help="Store nothing in the history.")
@click.option("--nsys", "nsys_path", metavar="PATH", help="The nsys to use, in place of the newest that is found.")
@click.option("--dry-run", is_flag=True, help="Print what would be run, and run nothing.")
def run(  # noqa: PLR0913 (one for each option)
    command: tuple[str, ...],
    *,
    output: Path | None,
    wanted: Wanted,
    no_history: bool,
    nsys_path: str | None,
    dry_run: bool,
) -> None:
    """Run a training under nsys, and say where its time goes.

    A .py file is run with the first python on PATH; after -- stands any command, such as torchrun, mpirun or srun.
    Options of gapfinder come before either. Capture, export, report and data are kept in one run folder. CUDA graphs
    are traced node by node, which slows them down but shows their kernels. Quicker, and without their kernels, is

    \b
    --nsys-arg=--cuda-graph-trace=graph

    The exit code is the training's own, unless that is 0 and the capture or its analysis failed.
    """  # noqa: D301 (click's mark for text that is not wrapped again)
    from gapfinder.capture.nsys import find_nsys
    from gapfinder.capture.session import dry_run as words_of
    from gapfinder.capture.session import run_training
    from gapfinder.cli.run_request import make_request, shell_line

    request = make_request(command, wanted=wanted)
    nsys = find_nsys(nsys_path)
    if dry_run:
        words, environment = words_of(request, nsys=nsys, output=output)
        click.echo(shell_line(words, environment=environment))
        return
    from gapfinder.cli.run_report import finish, record

    captured = run_training(
        request,
        nsys=nsys,
        output=output,
        announce=lambda folder: record(folder, request=request, nsys=nsys),
        tell=lambda sentence: say(f"gapfinder: {sentence}"),
    )
    raise click.exceptions.Exit(finish(captured, request=request, nsys=nsys, keeps_history=not no_history))
