"""`gapfinder upload`: profiles to a dashboard that runs elsewhere."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gapfinder.cli.profiles import folder_name
from gapfinder.cli.streams import outlive_connections
from gapfinder.cli.terminal import progress_console
from gapfinder.errors import visible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

TOKEN_NAME = "GAPFINDER_TOKEN"  # noqa: S105 (the name of a variable)


@click.command(no_args_is_help=True)
@click.argument("profiles", metavar="PROFILE...", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", metavar="URL", required=True, help="Address of the dashboard, as it printed it.")
@click.option("--name", metavar="TEXT", help="What it is called there; else as its folder or its first file.")
@click.option("--token", envvar=TOKEN_NAME, help=f"What the dashboard asks for; better in {TOKEN_NAME}.")
@click.option("--no-wait", is_flag=True, help="Do not wait until it is prepared there.")
def upload(profiles: tuple[Path, ...], *, to: str, name: str | None, token: str | None, no_wait: bool) -> None:
    """Send profiles to a dashboard, as one run with one address.

    PROFILE is what `analyze` takes. An upload that was interrupted goes on where it ended when it is sent again.
    """
    from gapfinder.load import find_profiles
    from gapfinder.upload import Client, send_files, wait_for_job

    files = find_profiles(profiles)
    outlive_connections()
    with Client(to, token=token) as client, _progress(client.url) as told:
        called = name or (folder_name(profiles[0]) if len(profiles) == 1 else None)
        sent = send_files(files, client=client, name=called, told=told)
        if not no_wait:
            wait_for_job(sent, client=client, told=told)
    click.echo(sent.page)


@contextmanager
def _progress(url: str) -> Iterator[Callable[[str, float | None], None]]:
    """Give what shows on a terminal what is being done and how far it is."""
    from rich.markup import escape
    from rich.progress import Progress

    with Progress(console=progress_console(), transient=True) as progress:
        task = progress.add_task(f"waiting for {escape(visible(url))}", total=None)

        def told(stage: str, done: float | None) -> None:
            progress.update(task, description=escape(stage), total=None if done is None else 1.0, completed=done or 0.0)

        yield told
