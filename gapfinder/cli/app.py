"""The `gapfinder` command: its subcommands, and the one place that turns errors into a line and an exit code."""

from __future__ import annotations

import gc
import io
import signal
import sys

import click

from gapfinder import __version__
from gapfinder.cli.analyze import analyze
from gapfinder.cli.estimate import estimate
from gapfinder.cli.explain import explain
from gapfinder.cli.export import export
from gapfinder.errors import GapfinderError

_INTERRUPTED = 128 + signal.SIGINT


class _Commands(click.Group):
    """Commands whose errors become one line on stderr and the error's exit code; a bug keeps its traceback."""

    def invoke(self, ctx: click.Context) -> object:
        """Run the command that was asked for."""
        try:
            return super().invoke(ctx)
        except GapfinderError as error:
            click.echo(f"gapfinder: error: {' '.join(str(error).split())}", err=True)
            ctx.exit(error.exit_code)
        except KeyboardInterrupt:
            click.echo("gapfinder: interrupted", err=True)
            ctx.exit(_INTERRUPTED)


@click.group(cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, message="gapfinder %(version)s")
def commands() -> None:
    """Find the holes in a GPU timeline, and how much communication is hidden behind compute.

    \b
    Exit codes: 0 good, 2 usage or bad input, 3 the input cannot answer, 4 nsys is missing or failed.
    """  # noqa: D301 (click's mark for text that is not wrapped again)


commands.add_command(analyze)
commands.add_command(estimate)
commands.add_command(explain)
commands.add_command(export)


def main() -> None:
    """Run the command line."""
    # Whoever reads the report may stop early (`| head`): end as other programs do, without a word.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    # A command makes very many small results, hardly ever in cycles: looking for them would take a tenth of its time.
    gc.disable()
    commands(prog_name="gapfinder")
