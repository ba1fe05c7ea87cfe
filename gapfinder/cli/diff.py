"""`gapfinder diff`: what changed from one training to another, and why."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gapfinder.cli.check_options import store_option
from gapfinder.cli.completion import complete_compared
from gapfinder.cli.options import chosen_settings, measuring_options, report_options
from gapfinder.cli.output import check_output, put_report
from gapfinder.cli.profiles import load_profiles
from gapfinder.cli.terminal import text_layout
from gapfinder.settings import settings_file

if TYPE_CHECKING:
    from gapfinder.compare.difference import Difference

FORMATS = ("text", "json", "markdown", "html")
ALLOWED = ("gpus", "ranks")


@click.command(no_args_is_help=True)
@click.argument("before", metavar="A", shell_complete=complete_compared)
@click.argument("after", metavar="B", shell_complete=complete_compared)
@click.option(
    "--allow-different",
    multiple=True,
    type=click.Choice(ALLOWED),
    help="Compare although this differs; may be repeated.",
)
@store_option
@report_options(*FORMATS)
@measuring_options
def diff(  # noqa: PLR0913 (one for each option)
    before: str,
    after: str,
    *,
    allow_different: tuple[str, ...],
    store: Path | None,
    form: str,
    output: Path | None,
    force: bool,
    config: Path | None,
    **options: object,
) -> None:
    """Say what changed from training A to B, and why.

    Nothing is judged. A and B are each a profile, a folder of the profiles of one job, a baseline's JSON file or a
    stored baseline's name.
    """
    config = config or settings_file(Path())
    settings = chosen_settings(config=config, **options)
    if output is not None:
        check_output(output, inputs=[Path(before), Path(after), *filter(None, [config])], force=force)

    from gapfinder.compare.checked import allowed_differences
    from gapfinder.compare.diff import diff as compare
    from gapfinder.compare.reference import find_baseline, store_folder

    folder = store_folder(store, settings=settings)
    old, new = (find_baseline(named, store=folder, settings=settings, load=load_profiles) for named in (before, after))
    difference = compare(old, new, names=_names(before, after), allowed=allowed_differences(allow_different))
    put_report(partial(_render, difference, form=form), output=output, force=force)


def _names(before: str, after: str) -> tuple[str, str]:
    """Return what the two are called: without their folders where that tells them apart."""
    short = Path(before).name, Path(after).name
    return short if short[0] != short[1] and all(short) else (before, after)


def _render(difference: Difference, *, form: str, is_terminal: bool) -> str:
    from gapfinder.render.difference import DIFFERENCE_RENDERERS, render_difference_text

    if form == "text":
        return render_difference_text(difference, **text_layout(is_terminal=is_terminal))
    return DIFFERENCE_RENDERERS[form](difference)
