"""The commands of `gapfinder history` that change what is stored."""

from __future__ import annotations

from pathlib import Path

import click

from gapfinder.cli.history_options import history_file, history_store_option
from gapfinder.cli.options import chosen_settings, measuring_options
from gapfinder.cli.profiles import load_profiles
from gapfinder.cli.streams import say


@click.command(no_args_is_help=True)
@click.argument("profiles", metavar="PROFILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--branch", default="main", help="What it is a run of; main when not given.")
@click.option("--label", help="A word of yours to know it by.")
@click.option("--not-accepted", is_flag=True, help="Store it, but let no check compare with it.")
@history_store_option
@measuring_options
def add(  # noqa: PLR0913 (one for each option)
    profiles: tuple[Path, ...],
    *,
    branch: str,
    label: str | None,
    not_accepted: bool,
    store: Path | None,
    config: Path | None,
    **options: object,
) -> None:
    """Measure profiles and store them as one run.

    The git commit that is checked out here is stored with it.
    """
    settings = chosen_settings(config=config, **options)

    from gapfinder.compare.git import git_commit
    from gapfinder.compare.history import Source, record
    from gapfinder.compare.measured import measure
    from gapfinder.compare.reference import history_file as store_of

    snapshot = measure(profiles, settings=settings, commit=git_commit(Path()), load=load_profiles)
    file = store_of(store, settings=settings)
    stored = record(file, snapshot, branch=branch, source=Source.ADD, accepted=not not_accepted, label=label)
    verb = "Stored" if stored.is_new else "The same capture is there already:"
    say(f"{verb} run {stored.run.id} of {branch} in {file}")


@click.command(no_args_is_help=True)
@click.argument("number", metavar="RUN", type=int)
@click.option("--no", "is_refused", is_flag=True, help="Take it back: no check shall compare with it.")
@history_store_option
def accept(number: int, *, is_refused: bool, store: Path | None) -> None:
    """Let checks compare with a run."""
    from gapfinder.compare.history import accept as accept_run

    run = accept_run(history_file(store), number, accepted=not is_refused)
    say(f"Run {run.id} of {run.branch} is {'accepted' if run.accepted else 'not accepted'}")


@click.command(no_args_is_help=True)
@click.argument("number", metavar="RUN", type=int)
@history_store_option
def rm(number: int, *, store: Path | None) -> None:
    """Remove a run from the history."""
    from gapfinder.compare.history import remove

    run = remove(history_file(store), number)
    say(f"Removed run {run.id} of {run.branch}")
