"""`gapfinder analyze`: profiles to a report."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gapfinder.cli.options import chosen_settings, measuring_options, report_options
from gapfinder.cli.output import check_output, put_report
from gapfinder.cli.profiles import given_profiles
from gapfinder.cli.terminal import text_height, text_layout
from gapfinder.cli.workers import check_complete, measured_files, worker_options
from gapfinder.errors import InconclusiveError
from gapfinder.settings import settings_file

if TYPE_CHECKING:
    from gapfinder.cli.workers import WorkersWanted
    from gapfinder.model import Analysis

FORMATS = ("text", "json", "markdown", "html")


@click.command(no_args_is_help=True)
@click.argument("profiles", metavar="PROFILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@report_options(*FORMATS)
@worker_options
@measuring_options
def analyze(  # noqa: PLR0913 (one for each option)
    profiles: tuple[Path, ...],
    *,
    form: str,
    output: Path | None,
    force: bool,
    place: WorkersWanted,
    config: Path | None,
    **options: object,
) -> None:
    """Say where the time of captured trainings goes, and why.

    Measured are, on each lane (one GPU as one process uses it): holes, which are time without compute; gaps, in which
    nothing runs; and how much communication is hidden behind compute. The report says why, and what to change.

    PROFILE is a report of nsys (.nsys-rep, .qdrep, .qdstrm), its export (.sqlite, .sqlite.gz, .sqlite.zst), a folder
    of them or a quoted pattern such as 'runs/*/rank*.nsys-rep'. Of several, one that cannot be measured is named and
    left out. Options that are not given come from the nearest gapfinder.toml or pyproject.toml.
    """
    config = config or settings_file(Path())
    settings = chosen_settings(config=config, **options)
    place.expect(profiles)
    files, inputs = given_profiles(profiles, config=config)
    if output is not None:
        check_output(output, inputs=inputs, force=force)

    from gapfinder.findings import explained

    measured = measured_files(files, settings=settings, place=place)
    analysis = explained(measured.analysis(settings=settings))
    put_report(partial(rendered, analysis, form=form), output=output, force=force)
    if not analysis.lanes:
        raise InconclusiveError(
            "nothing to measure on a GPU: no operation that takes time was captured; see the report"
        )
    check_complete(measured)


def rendered(analysis: Analysis, *, form: str, is_terminal: bool) -> str:
    """Return the report in one of FORMATS; on a terminal text has its width, colours, and an end that tells all."""
    from gapfinder.render import render_html, render_json, render_markdown, render_text

    if form == "text":
        return render_text(
            analysis, **text_layout(is_terminal=is_terminal), height=text_height(is_terminal=is_terminal)
        )
    return {"json": render_json, "markdown": render_markdown, "html": render_html}[form](analysis)
