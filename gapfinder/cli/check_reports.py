"""Where the reports of `gapfinder check` go, and the exit code of its verdict."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from gapfinder.cli.output import write_text
from gapfinder.cli.terminal import text_layout
from gapfinder.errors import InconclusiveError, InputError, RegressionError

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from gapfinder.compare.verdict import Verdict


def report_files(output: Path | None, *, form: str, reports: Mapping[Path, str]) -> dict[Path, str]:
    """Return the format of every file to write."""
    if output in reports:
        raise InputError(f"two reports would be written to {output}")
    return {**({} if output is None else {output: form}), **reports}


def write_reports(verdict: Verdict, *, form: str | None, files: Mapping[Path, str], force: bool) -> None:
    """Write every file, and print what is to be printed."""
    from gapfinder.render.check import CHECK_RENDERERS, render_check_text

    for file, kind in files.items():
        write_text(file, CHECK_RENDERERS[kind](verdict), force=force)
    if form == "text":
        click.echo(render_check_text(verdict, **text_layout(is_terminal=sys.stdout.isatty())), nl=False)
    elif form is not None:
        click.echo(CHECK_RENDERERS[form](verdict), nl=False)


def end_with(verdict: Verdict) -> None:
    """Raise what gives the verdict its exit code."""
    from gapfinder.compare.verdict import Outcome

    if verdict.outcome is Outcome.FAIL:
        raise RegressionError(verdict.breaches[0].sentence)
    if verdict.outcome is Outcome.INCONCLUSIVE:
        raise InconclusiveError(verdict.unknown[0])
