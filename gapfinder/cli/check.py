"""`gapfinder check`: fails when overlap got worse."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from gapfinder.cli.check_options import store_folder, store_option
from gapfinder.cli.measuring import load_profiles
from gapfinder.cli.options import chosen_settings, measuring_options
from gapfinder.cli.output import check_output, write_output
from gapfinder.errors import InconclusiveError, RegressionError
from gapfinder.settings import settings_file

if TYPE_CHECKING:
    from gapfinder.compare.verdict import Verdict

FORMATS = ("text", "json", "markdown", "junit", "github")
DIFFERENCES = ("gpus", "gpu-model", "ranks", "window", "min-gap")


@click.command(no_args_is_help=True)
@click.argument("profiles", metavar="PROFILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--baseline",
    metavar="NAME|FILE|PROFILE",
    help="A stored baseline, its JSON file, or an older profile; the stored baseline main when not given.",
)
@click.option(
    "--fail-on",
    metavar="LIMIT",
    multiple=True,
    help="Such as overlap_ratio<0.7 or exposed_ms_per_step@worst:+10%; may be repeated.",
)
@click.option(
    "--allow-different",
    multiple=True,
    type=click.Choice(DIFFERENCES),
    help="Compare although this differs; may be repeated.",
)
@store_option
@click.option(
    "--format", "form", type=click.Choice(FORMATS), default="text", help="Kind of report; text when not given."
)
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write, in place of standard output.")
@click.option("--force", is_flag=True, help="Overwrite the output file.")
@measuring_options
def check(  # noqa: PLR0913 (one for each option)
    profiles: tuple[Path, ...],
    *,
    baseline: str | None,
    fail_on: tuple[str, ...],
    allow_different: tuple[str, ...],
    store: Path | None,
    form: str,
    output: Path | None,
    force: bool,
    config: Path | None,
    **options: object,
) -> None:
    """Compare a training with a baseline and with limits, and fail when it got worse.

    \b
    Exit codes: 0 within the limits, 1 worse than allowed, 3 inconclusive: the question could not be answered.
    """  # noqa: D301 (click's mark for text that is not wrapped again)
    config = config or settings_file(Path())
    settings = chosen_settings(config=config, **options)

    from gapfinder.compare.check import check as decide
    from gapfinder.compare.measured import allowed_differences, find_baseline, measure
    from gapfinder.compare.thresholds import needs_baseline, parse_limits
    from gapfinder.load import find_profiles
    from gapfinder.render.check import CHECK_RENDERERS

    limits, allowed = parse_limits(fail_on), allowed_differences(allow_different)
    if output is not None:
        named = [Path(baseline)] if baseline else []
        check_output(output, inputs=[*find_profiles(profiles), *named, *filter(None, [config])], force=force)
    folder = store_folder(store)
    is_relative = needs_baseline(limits)
    old = find_baseline(baseline, store=folder, settings=settings, load=load_profiles) if is_relative else None
    verdict = decide(measure(profiles, settings=settings, load=load_profiles), old, limits=limits, allowed=allowed)
    report = CHECK_RENDERERS[form](verdict)
    if output is None:
        click.echo(report, nl=False)
    else:
        write_output(output, write=lambda part: part.write_text(report, encoding="utf-8"), force=force)
    _end(verdict)


def _end(verdict: Verdict) -> None:
    """Raise what gives the verdict its exit code."""
    from gapfinder.compare.verdict import Outcome

    if verdict.outcome is Outcome.FAIL:
        raise RegressionError(verdict.breaches[0].sentence)
    if verdict.outcome is Outcome.INCONCLUSIVE:
        raise InconclusiveError(verdict.unknown[0])
