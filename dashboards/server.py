"""Serves the dashboard: binds it to an address, guards it, and runs the jobs of its store until it is told to end."""

from __future__ import annotations

import errno
import gc
import ipaddress
import logging
import secrets
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn
from urllib.parse import urlencode

from waitress import wasyncore
from waitress.server import create_server

from dashboards.app import create_app
from dashboards.data.opening import OpenProfiles, open_prepared
from dashboards.ids import Page, address
from dashboards.jobs.captures import Watches
from dashboards.jobs.limits import limits_here
from dashboards.jobs.queue import Queue
from dashboards.jobs.runner import Runner
from dashboards.routes import answers, callbacks, health, session, timeline, uploads
from dashboards.routes.session import Access
from dashboards.store.leftovers import sweep
from dashboards.store.places import default_folder
from dashboards.store.room import Quota
from dashboards.store.store import Store
from dashboards.store.uploads import MOST_SLICE_BYTES
from dashboards.view import View
from gapfinder.capture.folder import RUNS_FOLDER
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from dash import Dash
    from waitress.server import BaseWSGIServer


USUAL_HOST, USUAL_PORT = "127.0.0.1", 8050
_PORTS_TRIED = 50
_SHORTEST_TOKEN = 16
_THREADS = 8
_LAST_ANSWERS_S, _LOOKS_FOR_END_EVERY_S = 1.0, 2.0
_CONNECTIONS, _SILENT_S, _LOOKS_FOR_SILENT_EVERY_S = 500, 30, 2
"""How many there may be, and how long one may be silent: of waitress's own 100 and 120 s few keep everybody out."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Serving:
    """Where the dashboard is served, and to whom.

    Attributes:
        port: None for the usual one, or the next that is free.
        token: what has to be known; None makes one where others than this machine reach the address.
        names: further host names under which it may be asked.
        quota_bytes: what uploads may take together; None for the usual quota.
        jobs: how many profiles are prepared at once; None for what suits this machine.
        job_bytes: memory that preparing one may take; None for what suits this machine.
    """

    host: str = USUAL_HOST
    port: int | None = None
    token: str | None = None
    names: tuple[str, ...] = ()
    quota_bytes: int | None = None
    jobs: int | None = None
    job_bytes: int | None = None


def open_dashboard(
    profiles: Sequence[tuple[str | None, Sequence[Path]]],
    *,
    watches: Sequence[Path] = (),
    store: Path | None,
    serving: Serving,
    told: Callable[[str], None],
) -> None:
    """Serve a store until it is interrupted.

    Args:
        profiles: to add and prepare before: the name and the files of each.
        watches: folders that are or hold watches of trainings; those of the usual folder are found as well.
        store: its folder; None for the usual one.
        serving: where, and to whom.
        told: hears the address to open, once.
    """
    roots = tuple(path.absolute() for path in (*watches, Path(RUNS_FOLDER)))
    view = make_view(default_folder() if store is None else store, watches=roots)
    front = address(Page.LIVE) if watches and not profiles else "/"
    try:
        for name, files in profiles:
            added = view.store.add(files, name=name)
            if not added.is_ready:
                view.queue.submit(added.id)
        serve(create_app(view), view, serving=serving, told=told, front=front)
    finally:
        view.store.close()


def make_view(folder: Path, *, watches: tuple[Path, ...] = ()) -> View:
    """Return what pages work with, of the store in a folder, and the watches in other folders."""
    store = Store(folder)
    queue = Queue(store)
    opened = OpenProfiles(lambda profile: open_prepared(store.profile(profile)))
    seen = Watches(watches, store=store, queue=queue)
    return View(store, opened, queue, history=store.places.history, watches=seen)


def serve(app: Dash, view: View, *, serving: Serving, told: Callable[[str], None], front: str = "/") -> None:
    """Serve until SIGINT or SIGTERM; `told` hears the address of the front page, once, with the token if there is one.

    Raises:
        InputError: the address cannot be used, or the token is too short.
    """
    token = _token(serving)
    connections: dict[int, Any] = {}
    bound = _bound(app, serving, connections=connections)
    access = Access(hosts=_names(serving), port=bound.effective_port, token=token)
    quota = Quota() if serving.quota_bytes is None else Quota(total_bytes=serving.quota_bytes)
    guard(app, view, access=access, quota=quota)
    sweep(view.store)
    gc.enable()  # a command line does without it, and ends
    runner = Runner(view.store, limits=limits_here(at_once=serving.jobs, memory_bytes=serving.job_bytes))
    ending = _Ending()
    usual = signal.signal(signal.SIGTERM, ending)
    logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # else a line for every request that has to wait
    runner.start()
    try:
        told(_address(serving.host, access, front=front))
        _answer(connections, ending=ending)
    finally:
        bound.task_dispatcher.shutdown(timeout=_LAST_ANSWERS_S)
        bound.close()
        runner.stop()
        signal.signal(signal.SIGTERM, usual)


class _Ending:
    """Ends the server at a signal, at once; or soon, where the signal falls into code that lets no exception out."""

    def __init__(self) -> None:
        self.is_asked = False

    def __call__(self, number: int, frame: object) -> NoReturn:  # noqa: ARG002 (a signal handler)
        self.is_asked = True
        raise SystemExit(0)


def _answer(connections: dict[int, Any], *, ending: _Ending) -> None:
    """Answer until it is interrupted; waitress's own `run` would then wait 5 s for an answer that takes long."""
    with suppress(KeyboardInterrupt, SystemExit):
        while not ending.is_asked:
            wasyncore.loop(timeout=_LOOKS_FOR_END_EVERY_S, count=1, map=connections, use_poll=True)


def guard(app: Dash, view: View, *, access: Access, quota: Quota | None = None) -> None:
    """Add what lies around the pages: who may ask, the security headers, uploads, health and errors."""
    server = app.server
    server.config["MAX_CONTENT_LENGTH"] = MOST_SLICE_BYTES
    session.register(server, access, script_hashes=tuple(app.csp_hashes()))
    answers.register(server)
    callbacks.register(app)
    health.register(server)
    timeline.register(server, view)
    uploads.register(server, view, quota=quota)


def _token(serving: Serving) -> str | None:
    if serving.token is not None and len(serving.token) < _SHORTEST_TOKEN:
        raise InputError(
            f"the token has fewer than {_SHORTEST_TOKEN} characters; choose a longer one, or none to get one"
        )
    if serving.token is None and not _is_loopback(serving.host):
        return secrets.token_urlsafe(32)
    return serving.token


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _names(serving: Serving) -> frozenset[str]:
    """Return the host names that are this server's own; on loopback the machine's are not among them."""
    machine = () if _is_loopback(serving.host) else (socket.gethostname(), socket.getfqdn())
    return frozenset(name.lower() for name in ("localhost", serving.host, *machine, *serving.names) if name)


def _bound(app: Dash, serving: Serving, *, connections: dict[int, Any]) -> BaseWSGIServer:
    """Return a server that listens and keeps its connections in `connections`, by the number of their socket."""
    first = USUAL_PORT if serving.port is None else serving.port
    ports = range(first, first + (_PORTS_TRIED if serving.port is None else 1))
    for port in ports:
        try:
            listening = _listening(serving.host, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or port == ports[-1]:
                raise InputError(
                    f"cannot serve on {serving.host} port {port}: {error.strerror}; choose another --port or --host"
                ) from error
        else:
            break
    return create_server(
        app.server,
        map=connections,
        sockets=[listening],
        threads=_THREADS,
        connection_limit=_CONNECTIONS,
        channel_timeout=_SILENT_S,
        cleanup_interval=_LOOKS_FOR_SILENT_EVERY_S,
        ident=None,
        max_request_body_size=MOST_SLICE_BYTES + 2,  # what is longer by one is answered by Flask
        recv_bytes=1 << 18,  # the usual 8 kB make a slice cost half as much time again
    )


def _listening(host: str, port: int) -> socket.socket:
    """Return a socket at the first address that the host name stands for."""
    family, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return socket.create_server(place[:2], family=family)


def _address(host: str, access: Access, *, front: str) -> str:
    name = {"0.0.0.0": socket.gethostname(), "::": socket.gethostname()}.get(host, host)  # noqa: S104 (not bound here)
    name = f"[{name}]" if ":" in name else name
    query = "" if access.token is None else f"?{urlencode({'token': access.token})}"
    return f"http://{name}:{access.port}{front}{query}"
