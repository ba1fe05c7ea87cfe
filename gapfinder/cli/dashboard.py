"""`gapfinder dashboard`: everything that was measured, on a page to look at."""

from __future__ import annotations

from pathlib import Path

import click

from gapfinder.capture.folder import RUNS_FOLDER
from gapfinder.cli.profiles import folder_name
from gapfinder.cli.streams import outlive_connections, say
from gapfinder.cli.upload import TOKEN_NAME
from gapfinder.errors import missing_extra


@click.command()
@click.argument("profiles", metavar="PROFILE|FOLDER...", nargs=-1, type=click.Path(path_type=Path))
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    help="Folder that keeps what is shown; one of the user's when not given.",
)
@click.option("--host", metavar="ADDRESS", default="127.0.0.1", show_default=True, help="Address to serve on.")
@click.option(
    "--port", metavar="N", type=click.IntRange(0, 65_535), help="Port; from 8050 on the first free one when not given."
)
@click.option("--token", envvar=TOKEN_NAME, help=f"What a visitor has to know; better in {TOKEN_NAME}.")
@click.option("--allow-host", "names", metavar="NAME", multiple=True, help="Further host name to answer to.")
@click.option("--quota", metavar="SIZE", help="What uploads may take together, such as 200GB; 50GB when not given.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Profiles prepared at once.")
@click.option("--memory", metavar="SIZE", help="What preparing one profile may take at most, such as 8GB.")
@click.option("--open", "opens", is_flag=True, help="Open it in the browser of this machine.")
def dashboard(  # noqa: PLR0913 (one for each option)
    profiles: tuple[Path, ...],
    *,
    store: Path | None,
    host: str,
    port: int | None,
    token: str | None,
    names: tuple[str, ...],
    quota: str | None,
    jobs: int | None,
    memory: str | None,
    opens: bool,
) -> None:
    """Serve the dashboard until Ctrl-C, and print its address.

    Every PROFILE becomes one profile of it, every FOLDER one made of the reports in it; what was added before is
    there as well. A FOLDER of gapfinder watch, or one that holds such folders, is shown live, as is gapfinder-runs
    where it is started. On an address that other machines reach, visitors need a token: it is in the printed address.
    """
    given, watches = _divided(profiles)
    try:
        from dashboards.server import Serving, open_dashboard
    except ModuleNotFoundError as error:
        missing = str(error.name).partition(".")[0]
        raise missing_extra("the dashboard", needs=missing, extra="dashboard") from error

    def told(address: str) -> None:
        say("gapfinder: the dashboard is here until Ctrl-C:")
        click.echo(address)
        if opens:
            import webbrowser

            webbrowser.open(address.partition("?")[0])  # whose command line anybody may read

    serving = Serving(
        host=host,
        port=port,
        token=token,
        names=names,
        quota_bytes=_bytes(quota),
        jobs=jobs,
        job_bytes=_bytes(memory),
    )
    outlive_connections()
    open_dashboard(given, watches=watches, store=store, serving=serving, told=told)


def _divided(given: tuple[Path, ...]) -> tuple[list[tuple[str | None, list[Path]]], list[Path]]:
    """Return the name and the files of each profile, and the folders of watches."""
    from gapfinder.load.find import find_profiles, paths_meant

    meant = [path for one in given for path in paths_meant(one)]
    watches = [path for path in meant if _is_watched(path)]
    return [(folder_name(path), find_profiles([path])) for path in meant if path not in watches], watches


def _is_watched(path: Path) -> bool:
    """Say whether a folder is for watches: it is or holds one, or has the name of the one that is made for them."""
    from gapfinder.watch.record import find_watches

    return path.is_dir() and (path.resolve().name == RUNS_FOLDER or bool(find_watches(path)))


def _bytes(size: str | None) -> int | None:
    from gapfinder.units import parse_bytes

    return None if size is None else parse_bytes(size)
