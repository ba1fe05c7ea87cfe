"""`gapfinder baseline`: keeps what a later check compares with."""

from __future__ import annotations

from pathlib import Path

import click

from gapfinder.cli.check_options import store_folder, store_option
from gapfinder.cli.completion import complete_baselines
from gapfinder.cli.options import chosen_settings, measuring_options
from gapfinder.cli.output import check_output, write_text
from gapfinder.cli.profiles import load_profiles
from gapfinder.cli.streams import say
from gapfinder.errors import InconclusiveError, InputError


@click.group()
def baseline() -> None:
    """Keep what a check compares with.

    A baseline is one JSON file, which can be committed or copied, with all that a check needs.
    """


@baseline.command(no_args_is_help=True)
@click.argument("name")
@click.argument("profiles", metavar="PROFILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--force", is_flag=True, help="Overwrite the baseline of this name.")
@store_option
@measuring_options
def save(
    name: str, profiles: tuple[Path, ...], *, force: bool, store: Path | None, config: Path | None, **options: object
) -> None:
    """Measure profiles and keep the result as NAME.

    The git commit that is checked out here is kept with it.
    """
    settings = chosen_settings(config=config, **options)

    from gapfinder.compare.git import git_commit
    from gapfinder.compare.measured import measure
    from gapfinder.compare.reference import store_folder as folder_of
    from gapfinder.compare.snapshot_json import snapshot_to_json
    from gapfinder.compare.store import baseline_file

    path = baseline_file(folder_of(store, settings=settings), name)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot make the folder {path.parent}: {error.strerror}") from error
    check_output(path, inputs=profiles, force=force)
    snapshot = measure(profiles, settings=settings, commit=git_commit(Path()), load=load_profiles)
    if not snapshot.lanes:
        raise InconclusiveError(
            "not saved: no GPU operation that takes time was captured; a baseline holds times of GPUs, so "
            "capture on a machine with one"
        )
    write_text(path, snapshot_to_json(snapshot), force=force)


@baseline.command("list")
@store_option
def list_(store: Path | None) -> None:
    """List all baselines, a line each."""
    from gapfinder.compare.store import load, names
    from gapfinder.render.check.baselines import baseline_line

    folder = store_folder(store)
    for name in names(folder):
        click.echo(baseline_line(name, load(folder, name)))


@baseline.command(no_args_is_help=True)
@click.argument("name", shell_complete=complete_baselines)
@store_option
def show(name: str, store: Path | None) -> None:
    """Show one baseline."""
    from gapfinder.compare.store import load
    from gapfinder.render.check.baselines import baseline_text

    click.echo(baseline_text(name, load(store_folder(store), name)), nl=False)


@baseline.command(no_args_is_help=True)
@click.argument("name", shell_complete=complete_baselines)
@store_option
def rm(name: str, store: Path | None) -> None:
    """Remove one baseline."""
    from gapfinder.compare.store import remove

    say(f"Removed {remove(store_folder(store), name)}")
