"""The `gapfinder` command: its subcommands, and the one place that turns errors into a line and an exit code."""

from __future__ import annotations

import gc
import signal
import sys
from contextlib import contextmanager
from itertools import chain
from typing import TYPE_CHECKING, NoReturn

import click

from gapfinder import __version__
from gapfinder.cli import INTERRUPTED
from gapfinder.cli.analyze import analyze
from gapfinder.cli.baseline import baseline
from gapfinder.cli.capture_now import capture_now
from gapfinder.cli.check import check
from gapfinder.cli.collectives import collectives
from gapfinder.cli.dashboard import dashboard
from gapfinder.cli.diff import diff
from gapfinder.cli.doctor import doctor
from gapfinder.cli.estimate import estimate
from gapfinder.cli.explain import explain
from gapfinder.cli.export import export
from gapfinder.cli.history import history
from gapfinder.cli.run import run
from gapfinder.cli.scrub import scrub
from gapfinder.cli.streams import prepare_streams, say
from gapfinder.cli.upload import upload
from gapfinder.cli.watch import watch
from gapfinder.errors import GapfinderError

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def _errors_in_one_line(ctx: click.Context | None = None) -> Iterator[None]:
    """Turn an error into one line on stderr and its exit code; a bug keeps its traceback."""
    try:
        yield
    except GapfinderError as error:
        _end(f"error: {error}", exit_code=error.exit_code)
    except click.exceptions.NoArgsIsHelpError:
        raise
    except click.UsageError as error:
        told = error.format_message().rstrip(".")
        see = " See" if told.endswith("?") else "; see"
        _end(f"error: {told}{see} {_command(error.ctx, ctx)} --help", exit_code=error.exit_code)
    except KeyboardInterrupt:
        _end("interrupted", exit_code=INTERRUPTED)


def _command(told: click.Context | None, ours: click.Context | None) -> str:
    """Return the command that was wrongly used; click's parser of options does not tell."""
    if told is not None:
        return told.command_path
    return "gapfinder" if ours is None else f"{ours.command_path} {ours.invoked_subcommand or ''}".rstrip()


def _end(message: str, *, exit_code: int) -> NoReturn:
    say(f"gapfinder: {' '.join(message.split())}")
    raise click.exceptions.Exit(exit_code)


SECTIONS: dict[str, tuple[click.Command, ...]] = {
    "Measure": (run, analyze, collectives, explain),
    "Long runs": (watch, capture_now),
    "Compare": (diff, check, baseline, history),
    "See": (dashboard, upload),
    "Before a training": (doctor, estimate),
    "Files": (export, scrub),
}
"""Every command under its heading, in the order of `gapfinder --help` and of docs/commands.md."""


class _Commands(click.Group):
    """Commands under headings, whose errors become one line, those of parsing as well."""

    def make_context(
        self, info_name: str | None, args: list[str], parent: click.Context | None = None, **extra: object
    ) -> click.Context:
        """Parse what stands before the command."""
        with _errors_in_one_line():
            return super().make_context(info_name, args, parent, **extra)

    def invoke(self, ctx: click.Context) -> object:
        """Parse and run the command that was asked for."""
        with _errors_in_one_line(ctx):
            return super().invoke(ctx)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002 (click's)
        """Write a section for each heading, all in the same two columns."""
        widest = max(len(name) for name in self.commands)
        room = formatter.width - widest - 4  # a margin and a space between the columns, of two each
        for title, section in SECTIONS.items():
            with formatter.section(title):
                rows = [(f"{command.name:{widest}}", command.get_short_help_str(room)) for command in section]
                formatter.write_dl(rows)


@click.group(
    "gapfinder", cls=_Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100}
)
@click.version_option(__version__, message="gapfinder %(version)s")
def commands() -> None:
    """Find the holes in a GPU timeline, and how much communication is hidden behind compute.

    \b
    Exit codes: 0 good, 1 a check failed, 2 usage or bad input,
    3 the input cannot answer, 4 nsys is missing or failed.
    `run` and `watch` end with the training's own where that is not 0.
    """  # noqa: D301 (click's mark for text that is not wrapped again)


for _member in chain.from_iterable(SECTIONS.values()):
    commands.add_command(_member)


def main() -> None:
    """Run the command line."""
    # Whoever reads the report may stop early (`| head`): end as other programs do, without a word.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    try:
        with _errors_in_one_line():
            prepare_streams()
    except click.exceptions.Exit as end:
        sys.exit(end.exit_code)
    # A command makes very many small results, hardly ever in cycles: looking for them would take a tenth of its time.
    gc.disable()
    try:
        commands(prog_name="gapfinder")
    except SystemExit as end:
        if not end.code:  # what was interrupted may have something to give back
            gc.freeze()  # the interpreter looks for cycles once more when it ends, whatever was disabled
        raise
