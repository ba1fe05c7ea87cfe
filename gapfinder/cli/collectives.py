"""`gapfinder collectives`: every collective by itself, or summed by operation or by step."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gapfinder.cli.options import chosen_settings, measuring_options, report_options
from gapfinder.cli.output import check_output, put_report
from gapfinder.cli.profiles import given_profiles
from gapfinder.cli.workers import check_complete, measured_files, worker_options
from gapfinder.errors import InconclusiveError
from gapfinder.settings import settings_file

if TYPE_CHECKING:
    from gapfinder.cli.workers import WorkersWanted


class By(StrEnum):
    """What a row of the output is about."""

    INSTANCE = "instance"
    OPERATION = "operation"
    STEP = "step"


FORMATS = ("text", "csv", "json")


@click.command(no_args_is_help=True)
@click.argument("profiles", metavar="PROFILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--by",
    type=click.Choice([one.value for one in By]),
    default=By.INSTANCE.value,
    help="What a row is; instance when not given.",
)
@report_options(*FORMATS)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="At most N rows, of what is exposed most; 50 of text and all of the others when not given.",
)
@worker_options
@measuring_options
def collectives(  # noqa: PLR0913 (one for each option)
    profiles: tuple[Path, ...],
    *,
    by: str,
    form: str,
    output: Path | None,
    force: bool,
    limit: int | None,
    place: WorkersWanted,
    config: Path | None,
    **options: object,
) -> None:
    """List collectives, or sum them up by operation or step.

    A row says how long a lane was in a collective, how much of it was hidden behind compute, how long it waited for the
    last lane and how fast the bytes moved. CSV and JSON are in nanoseconds.
    """
    config = config or settings_file(Path())
    settings = chosen_settings(config=config, **options)
    place.expect(profiles)
    files, inputs = given_profiles(profiles, config=config)
    if output is not None:
        check_output(output, inputs=inputs, force=force)

    from gapfinder.cli.collectives_output import not_measured, render

    measured = measured_files(files, settings=settings, place=place)
    analysis, frame = measured.collectives(settings=settings)
    report = partial(render, analysis, frame, by=By(by), form=form, limit=limit)
    put_report(report, output=output, force=force)
    if not analysis.lanes:
        raise InconclusiveError("nothing to measure: no GPU operation that takes time was captured")
    reason = not_measured(analysis)
    if reason is not None:
        raise InconclusiveError(f"communication was not measured: {reason}")
    if By(by) is By.STEP and not any(lane.steps for lane in analysis.lanes):
        raise InconclusiveError(f"nothing to sum up by step: {analysis.lanes[0].steps_reason}; see --step-pattern")
    check_complete(measured)
