"""`gapfinder run`: a training under nsys, and its report."""

from __future__ import annotations

from pathlib import Path

import click

from gapfinder.cli.streams import say

_RANGES = ("nvtx", "cudaProfilerApi", "none")


@click.command(no_args_is_help=True, context_settings={"allow_interspersed_args": False})
@click.argument("command", metavar="TRAIN.PY|COMMAND [ARGS]...", nargs=-1, required=True, type=click.UNPROCESSED)
@click.option("-o", "--output", metavar="FOLDER", type=click.Path(path_type=Path), help="New folder for all of it.")
@click.option("--steps", metavar="FIRST:END", help="Capture exactly these steps; the first 30 when not given.")
@click.option("--per-rank", is_flag=True, help="An nsys in each rank of torchrun, mpirun or srun, not one around all.")
@click.option(
    "--capture-range", type=click.Choice(_RANGES), help="What starts and stops the capture, in place of steps."
)
@click.option("--nvtx-range", metavar="NAME@DOMAIN", help="The range of --capture-range nvtx; * is any domain.")
@click.option("--no-annotate", is_flag=True, help="Mark no steps and phases; captures the whole run.")
@click.option("--nsys", "nsys_path", metavar="PATH", help="The nsys to use, in place of the newest that is found.")
@click.option("--nsys-arg", "nsys_args", metavar="ARG", multiple=True, help="For nsys profile; may be repeated.")
@click.option("--dry-run", is_flag=True, help="Print what would be run, and run nothing.")
def run(command: tuple[str, ...], *, output: Path | None, dry_run: bool, nsys_path: str | None, **wanted: object) -> None:
    """Run a training under nsys, and report where its time goes.

    A .py file is run with the active Python; after -- stands any command, such as torchrun, mpirun or srun. Everything
    is kept in one run folder. CUDA graphs are traced node by node, which slows them down but shows their kernels;
    --nsys-arg=--cuda-graph-trace=graph is quicker and hides them.

    The exit code is the training's own, unless that is 0 and the capture or its analysis failed.
    """
    from gapfinder.capture.nsys import find_nsys
    from gapfinder.capture.session import dry_run as words_of
    from gapfinder.capture.session import run_training
    from gapfinder.cli.run_request import make_request, shell_line

    request = make_request(command, **wanted)
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
    raise click.exceptions.Exit(finish(captured, request=request, nsys=nsys))
