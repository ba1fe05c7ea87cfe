"""`gapfinder check`: fails when overlap got worse."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gapfinder.cli.check_options import checking_options
from gapfinder.cli.options import chosen_settings, measuring_options
from gapfinder.cli.output import check_output, write_output
from gapfinder.cli.profiles import given_profiles, load_profiles
from gapfinder.cli.recording import record_check
from gapfinder.errors import InconclusiveError, InputError, RegressionError
from gapfinder.settings import settings_file

if TYPE_CHECKING:
    from collections.abc import Mapping

    from gapfinder.cli.check_options import HistoryWanted
    from gapfinder.compare.verdict import Verdict


@click.command(no_args_is_help=True)
@click.argument("profiles", metavar="PROFILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@checking_options
@measuring_options
def check(  # noqa: PLR0913 (one for each option)
    profiles: tuple[Path, ...],
    *,
    baseline: str | None,
    fail_on: tuple[str, ...],
    allow_different: tuple[str, ...],
    store: Path | None,
    wanted: HistoryWanted,
    form: str,
    output: Path | None,
    reports: Mapping[Path, str],
    force: bool,
    config: Path | None,
    **options: object,
) -> None:
    """Fail when a training got worse than limits allow.

    It is compared with a baseline, with limits of its own, or with both.

    \b
    Exit codes: 0 within the limits, 1 worse than allowed, 3 inconclusive: the question could not be answered.
    """  # noqa: D301 (click's mark for text that is not wrapped again)
    config = config or settings_file(Path())
    settings = chosen_settings(config=config, **options)

    from gapfinder.compare.check import check as decide
    from gapfinder.compare.checked import allowed_differences
    from gapfinder.compare.git import git_commit
    from gapfinder.compare.measured import measure
    from gapfinder.compare.reference import Reference
    from gapfinder.compare.thresholds import parse_limits

    limits, allowed = parse_limits(fail_on), allowed_differences(allow_different)
    files = _files(output, form=form, reports=reports)
    _, inputs = given_profiles(profiles, config=config)
    for file in files:
        check_output(file, inputs=[*inputs, *map(Path, filter(None, [baseline]))], force=force)
    reference = Reference(
        baseline=baseline,
        against_history=wanted.against_history,
        history_runs=wanted.history_runs,
        store=store,
        history=wanted.history,
    )
    old = reference.find(limits, settings=settings, load=load_profiles)
    candidate = measure(profiles, settings=settings, commit=git_commit(Path()), load=load_profiles)
    verdict = decide(candidate, old, limits=limits, allowed=allowed)
    _report(verdict, form=None if output else form, files=files, force=force)
    record_check(candidate, verdict, wanted=wanted, settings=settings)
    _end(verdict)


def _files(output: Path | None, *, form: str, reports: Mapping[Path, str]) -> dict[Path, str]:
    """Return the format of every file to write."""
    if output in reports:
        raise InputError(f"two reports would be written to {output}")
    return {**({} if output is None else {output: form}), **reports}


def _report(verdict: Verdict, *, form: str | None, files: Mapping[Path, str], force: bool) -> None:
    """Write every file, and print what is to be printed."""
    from gapfinder.render.check import CHECK_RENDERERS

    for file, kind in files.items():
        write_output(
            file, write=partial(Path.write_text, data=CHECK_RENDERERS[kind](verdict), encoding="utf-8"), force=force
        )
    if form is not None:
        click.echo(CHECK_RENDERERS[form](verdict), nl=False)


def _end(verdict: Verdict) -> None:
    """Raise what gives the verdict its exit code."""
    from gapfinder.compare.verdict import Outcome

    if verdict.outcome is Outcome.FAIL:
        raise RegressionError(verdict.breaches[0].sentence)
    if verdict.outcome is Outcome.INCONCLUSIVE:
        raise InconclusiveError(verdict.unknown[0])
