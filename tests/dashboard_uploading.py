"""A dashboard with a store behind a connection that can be cut, for journeys of uploads."""

from __future__ import annotations

import socket
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboards.app import create_app
from dashboards.routes.session import Access
from dashboards.server import guard, make_view
from dashboards.store.room import Quota
from dashboards.store.uploads import MOST_SLICE_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from dashboards.store.store import Store


class Wire:
    """Carries connections to a port of this machine, until it is cut."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._open: list[socket.socket] = []
        self._left: int | None = None
        self._accept()

    def cut(self) -> None:
        """End every connection in the middle of whatever it carries, and let no new one begin."""
        for one in (self._listening, *self._open):
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        self._open.clear()

    def cut_after(self, sent: int) -> None:
        """Cut as soon as so many more bytes were sent to the server."""
        self._left = sent

    def mend(self) -> None:
        """Let connections begin again, at the same address."""
        self._listening = socket.create_server(("127.0.0.1", self.port))
        self._accept()

    def _accept(self) -> None:
        threading.Thread(target=self._carry_all, args=(self._listening,), daemon=True).start()

    def _carry_all(self, listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                near, _ = listening.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
                self._open += [near, far]
                threading.Thread(target=self._carry, args=(far, near), daemon=True).start()
                threading.Thread(target=self._carry, args=(near, far, self._count), daemon=True).start()

    def _count(self, size: int) -> None:
        if self._left is not None:
            self._left -= size
            if self._left < 0:
                self._left = None
                self.cut()

    def _carry(
        self, source: socket.socket, target: socket.socket, count: Callable[[int], None] = lambda _: None
    ) -> None:
        with suppress(OSError):
            while data := source.recv(1 << 16):
                count(len(data))
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)


@dataclass(frozen=True)
class Uploading:
    """A served dashboard that takes uploads; nothing prepares them."""

    address: str
    store: Store
    wire: Wire


@contextmanager
def uploading(folder: Path) -> Iterator[Uploading]:
    """Serve an empty store on a free port, as `gapfinder dashboard` does but for jobs."""
    from waitress.server import create_server

    view = make_view(folder)
    app = create_app(view)
    access = Access(hosts=frozenset({"localhost"}), port=0, token=None)
    guard(app, view, access=access, quota=Quota(reserve_bytes=0))
    server = create_server(app.server, host="127.0.0.1", port=0, threads=8, max_request_body_size=MOST_SLICE_BYTES + 2)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    wire = Wire(server.effective_port)
    try:
        yield Uploading(f"http://127.0.0.1:{wire.port}", view.store, wire)
    finally:
        wire.cut()
        server.task_dispatcher.shutdown()
        server.close()
        thread.join(timeout=5)
        view.store.close()
