"""`gapfinder upload` against a dashboard in a process of its own."""

from __future__ import annotations

import os
import socket
import threading
import time
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from click.testing import CliRunner, Result
from dashboard_servers import TOKEN, running_server

from dashboards.store.store import Store
from gapfinder.cli.app import commands
from gapfinder.errors import InputError
from gapfinder.upload import Client, send_files, sending

if TYPE_CHECKING:
    from collections.abc import Iterator

CONTENT = b"SQLite format 3\0" + os.urandom(30_000)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    store = Store(tmp_path_factory.mktemp("uploaded") / "store")
    yield store
    store.close()


@pytest.fixture(scope="module")
def address(store: Store) -> Iterator[str]:
    with running_server(store.places.folder, token=TOKEN, quota=1_000_000) as (_, address):
        yield address.partition("?")[0]


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "_SLICE_BYTES", 7_000)
    monkeypatch.setattr(sending, "_PAUSES_S", (0.01,) * 3)


def file(path: Path, content: bytes = CONTENT) -> Path:
    path.write_bytes(content)
    return path


def upload(*arguments: str | Path, token: str | None = TOKEN) -> Result:
    return CliRunner(env={"GAPFINDER_TOKEN": token}).invoke(commands, ["upload", *map(str, arguments)])


def test_a_profile_is_sent_prepared_and_its_page_told(store, address, tmp_path):
    done = upload(file(tmp_path / "good.sqlite"), "--to", address, "--name", "the good one")
    (profile,) = store.profiles()
    assert (done.exit_code, done.stdout) == (0, f"{address}p/{profile.id}/overview\n")
    assert (profile.name, profile.is_ready, profile.files[0].read_bytes()) == ("the good one", True, CONTENT)


def test_a_folder_of_files_is_one_profile_with_its_name(store, address, tmp_path):
    (tmp_path / "run").mkdir()
    contents = [CONTENT + bytes([number]) for number in range(3)]
    for number, content in enumerate(contents):
        file(tmp_path / "run" / f"rank{number}.sqlite", content)
    done = upload(tmp_path / "run", "--no-wait", "--to", f"{address}?token={TOKEN}", token=None)
    assert done.exit_code == 0, done.stderr
    newest = store.profiles()[0]
    assert (newest.name, [file.read_bytes() for file in newest.files]) == ("run", contents)


def test_a_profile_that_cannot_be_prepared_says_why(address, tmp_path):
    done = upload(file(tmp_path / "bad.sqlite", CONTENT + b"bad"), "--to", address)
    assert done.exit_code == 2
    assert "the upload is there, but it was not prepared: bad.sqlite: is cut off: 9 bytes of 10" in done.stderr


@pytest.mark.parametrize(
    ("content", "size", "reason"),
    [(b"hello", 5, "is a text file"), (b"", 0, "is empty"), (CONTENT, 2_000_000, "remove profiles")],
)
def test_what_is_no_profile_or_too_much_is_told(address, tmp_path, content, size, reason):
    path = file(tmp_path / "a.sqlite", content)
    os.truncate(path, size)
    done = upload(path, "--to", address)
    assert (done.exit_code, reason in done.stderr, len(done.stderr.splitlines())) == (2, True, 1)


@pytest.mark.parametrize("token", [None, "another-token-than-that"])
def test_a_wrong_token_is_told_and_not_shown(address, tmp_path, token):
    done = upload(file(tmp_path / "good.sqlite"), "--to", address, token=token)
    assert (done.exit_code, "needs its token" in done.stderr) == (2, True)
    assert str(token) not in done.output


@pytest.mark.parametrize("to", ["gpu-server:8050", "ftp://gpu-server", "http://", "http://[::1", "http://x:99999"])
def test_what_is_no_address_is_told(tmp_path, to):
    done = upload(file(tmp_path / "good.sqlite"), "--to", to)
    assert (done.exit_code, "address" in done.stderr) == (2, True)


@pytest.mark.parametrize("to", ["http://127.0.0.1:9", "https://127.0.0.1:9", "http://no-such-name.invalid:8050"])
def test_nobody_there_is_told_at_once(tmp_path, monkeypatch, to):
    monkeypatch.setattr(time, "sleep", lambda _: pytest.fail("waits for nobody"))
    done = upload(file(tmp_path / "good.sqlite"), "--to", to)
    assert (done.exit_code, f"nothing answers at {to} (" in done.stderr) == (2, True)
    assert len(done.stderr.splitlines()) == 1


def test_a_server_that_never_answers_is_given_up_in_time(tmp_path, monkeypatch):
    """Each question has its own patience, and all of them one end, however many pauses are left."""
    monkeypatch.setattr(sending, "_PAUSES_S", (0.01,) * 1_000)
    monkeypatch.setattr(sending, "_TRIED_FOR_S", 0.5)
    monkeypatch.setitem(sending._asked.__kwdefaults__, "patience_s", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        started = time.monotonic()
        done = upload(file(tmp_path / "good.sqlite"), "--to", f"http://127.0.0.1:{silent.getsockname()[1]}")
        took = time.monotonic() - started
    assert (done.exit_code, "does not answer (timed out); check the address" in done.stderr) == (2, True)
    assert len(done.stderr.splitlines()) == 1
    assert 0.5 < took < 5


class _Other(BaseHTTPRequestHandler):
    answer = b""

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *arguments: object) -> None:
        pass


@pytest.mark.parametrize(
    "answer", [b"<html>hello \x1b</html>", b'{"id": "../x", "offset": -5}', b'{"id": "x", "offset": 1%s}' % (b"0" * 30)]
)
def test_another_website_is_told(tmp_path, monkeypatch, answer):
    monkeypatch.setattr(_Other, "answer", answer)
    with HTTPServer(("127.0.0.1", 0), _Other) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        done = upload(file(tmp_path / "good.sqlite"), "--to", f"http://127.0.0.1:{server.server_port}")
        server.shutdown()
    assert (done.exit_code, "is no gapfinder dashboard" in done.stderr) == (2, True)


def test_a_file_that_changes_meanwhile_is_not_taken(store, address, tmp_path):
    path = file(tmp_path / "good.sqlite", CONTENT + b"changing")
    before = store.profiles()

    def told(stage: str, done: float | None) -> None:
        path.write_bytes(CONTENT + b"changed.")

    with Client(address, token=TOKEN) as client, pytest.raises(InputError, match="changed while it was sent"):
        send_files([path], client=client, name=None, told=told)
    assert store.profiles() == before


def test_an_upload_outlives_a_server_that_is_killed(tmp_path, monkeypatch):
    """Killed in the middle, and another one started at the same address: only what is missing is sent."""
    path, folder = file(tmp_path / "good.sqlite"), tmp_path / "store"
    monkeypatch.setattr(sending, "_PAUSES_S", (0.2,) * 300)
    seen: list[float] = []
    with ExitStack() as stack:
        process, address = stack.enter_context(running_server(folder, quota=10**6))

        def told(stage: str, done: float | None) -> None:
            seen.append(done)
            if process.poll() is None and done > 0.4:
                process.kill()
                process.wait()
                stack.enter_context(running_server(folder, quota=10**6, port=urlsplit(address).port))

        with Client(address) as client:
            sent = send_files([path], client=client, name=None, told=told)
        store = Store(folder)
        assert store.profile(sent.profile).files[0].read_bytes() == CONTENT
        store.close()
    assert process.returncode == -9
    assert seen == sorted(seen)
