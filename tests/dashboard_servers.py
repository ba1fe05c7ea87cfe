"""A dashboard without pages, in this process or in one of its own, for tests of what lies around the pages."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dash import Dash, html

from dashboards import server
from dashboards.jobs.runner import Runner
from dashboards.server import Serving, make_view, serve

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[1]
TOKEN = "an-example-of-a-token"  # noqa: S105


def plain_app() -> Dash:
    app = Dash("plain", serve_locally=True)
    app.layout = html.Div("pages would be here")
    app.server.add_url_rule("/endless", view_func=_endless)
    return app


def _endless() -> str:
    print("asked", flush=True)  # noqa: T201
    time.sleep(60)
    return ""


@contextmanager
def running_server(folder: Path, **options: str | int | None) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server in a process of its own, and its address; it is killed at the end."""
    path = os.pathsep.join((str(ROOT), str(ROOT / "tests")))
    command = (sys.executable, "-m", "dashboard_servers", str(folder), json.dumps(options))
    environment = os.environ | {"PYTHONPATH": path}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, cwd=folder.parent)
    try:
        ready, _, _ = select.select([process.stdout], [], [], 60)
        assert ready, "the server did not say its address"
        yield process, process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def main(folder: str, options: str) -> None:
    chosen = json.loads(options)
    server.Runner = partial(Runner, worker=chosen.get("worker", "dashboard_worker"))
    serving = Serving(
        host=chosen.get("host", "127.0.0.1"),
        port=chosen.get("port", 0),
        token=chosen.get("token"),
        quota_bytes=chosen.get("quota"),
        jobs=1,
        job_bytes=2_000_000_000,
    )
    serve(plain_app(), make_view(Path(folder)), serving=serving, told=lambda address: print(address, flush=True))  # noqa: T201


if __name__ == "__main__":
    main(*sys.argv[1:])
