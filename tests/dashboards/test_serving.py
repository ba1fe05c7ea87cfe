"""Serving: who may ask, what every answer carries, and how a server starts and ends."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
import signal
import socket
import time
from contextlib import ExitStack, closing
from http.client import HTTPConnection
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import pytest
from dashboard_servers import TOKEN, plain_app, running_server

from dashboards.routes.session import Access
from dashboards.server import Serving, guard, make_view, serve
from gapfinder import __version__
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask import Flask
    from flask.testing import FlaskClient

    from dashboards.view import View

EVERYWHERE = "0.0.0.0"  # noqa: S104
COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)  # Dash has one for an old browser, with a script in it
PAGE = {"Accept": "text/html"}


@pytest.fixture(scope="module")
def view(tmp_path_factory: pytest.TempPathFactory) -> Iterator[View]:
    view = make_view(tmp_path_factory.mktemp("serving") / "store")
    yield view
    view.store.close()


def guarded(view: View, token: str | None) -> Flask:
    app = plain_app()
    guard(app, view, access=Access(hosts=frozenset({"localhost", "gpu-server"}), port=8050, token=token))
    return app.server


@pytest.fixture(scope="module")
def open_app(view: View) -> Flask:
    return guarded(view, None)


@pytest.fixture(scope="module")
def closed_app(view: View) -> Flask:
    return guarded(view, TOKEN)


@pytest.fixture
def anybody(open_app: Flask) -> FlaskClient:
    return open_app.test_client()


@pytest.fixture
def visitor(closed_app: Flask) -> FlaskClient:
    return closed_app.test_client()


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:9000", "127.0.0.1:8050", "[::1]:8050", "GPU-SERVER", "10.0.0.7"]
)
def test_its_own_names_are_answered(anybody, host):
    assert anybody.get("/healthz", headers={"Host": host}).status_code == 200


@pytest.mark.parametrize(
    "host", ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "", "[::1", "a@localhost:x"]
)
def test_a_rebound_name_is_not(anybody, host):
    answer = anybody.get("/healthz", headers={"Host": host})
    assert answer.status_code in (400, 421)
    assert __version__ not in answer.text


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Origin": "http://localhost:9999"},
        {"Origin": "http://localhost", "Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
    ],
)
def test_another_site_can_change_nothing(anybody, headers):
    for method, path in (
        ("POST", "/uploads"),
        ("PUT", "/uploads/x"),
        ("DELETE", "/uploads/x"),
        ("POST", "/_dash-update-component"),
    ):
        assert anybody.open(path, method=method, headers=headers).status_code == 403


@pytest.mark.parametrize(
    "headers", [{}, {"Origin": "http://localhost"}, {"Origin": "http://localhost", "Sec-Fetch-Site": "same-origin"}]
)
def test_its_own_pages_and_programs_can(anybody, headers):
    assert anybody.delete("/uploads/x", headers=headers).status_code == 204


def test_every_answer_has_the_security_headers(anybody):
    for path in ("/", "/healthz", "/uploads/none", "/_dash-layout"):
        headers = anybody.get(path).headers
        policy = dict(rule.partition(" ")[::2] for rule in headers["Content-Security-Policy"].split("; "))
        assert (policy["default-src"], policy["frame-ancestors"], policy["connect-src"]) == (
            "'none'",
            "'none'",
            "'self'",
        )
        assert not re.search(r"unsafe|https?:|\*|data:", policy["script-src"])
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "same-origin"
        assert headers["Cross-Origin-Opener-Policy"] == headers["Cross-Origin-Resource-Policy"] == "same-origin"


def test_every_script_of_the_page_is_allowed_by_its_hash(anybody):
    answer = anybody.get("/")
    inline = re.findall(r"<script(?! id=\"_dash-config\")[^>]*>([^<]+)</script>", COMMENT.sub("", answer.text))
    assert inline
    for script in inline:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in answer.headers["Content-Security-Policy"]
    assert "://" not in re.sub(r"<!--.*?-->", "", "".join(re.findall(r"(?:src|href)=\"([^\"]*)", answer.text)))


@pytest.mark.parametrize(
    "path",
    ["/", "/_dash-layout", "/uploads/x", "/p/x/job", "/assets/none.js", "/?token=wrong", "/?token=", "/?token=%ff"],
)
def test_without_the_token_there_is_nothing(visitor, path):
    answer = visitor.get(path)
    assert answer.status_code == 401
    assert "Set-Cookie" not in answer.headers
    assert TOKEN not in answer.text
    assert visitor.post("/uploads", json={}).status_code == 401


def test_health_needs_no_token_and_tells_nothing_else(visitor):
    answer = visitor.get("/healthz")
    assert (answer.status_code, answer.json) == (200, {"ok": True, "version": __version__})


def test_the_token_is_exchanged_for_a_cookie_and_leaves_the_address(visitor):
    answer = visitor.get(f"/p/abc/timeline?start=1&token={TOKEN}&end=2&end=3", headers=PAGE)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/p/abc/timeline?start=1&end=2&end=3")
    cookie = answer.headers["Set-Cookie"]
    assert cookie.startswith("gapfinder-8050=")
    assert TOKEN not in cookie
    assert {"HttpOnly", "SameSite=Strict", "Path=/"} <= set(cookie.split("; "))
    assert visitor.get("/").status_code == 200
    again = visitor.get(f"/?token={TOKEN}")
    assert (again.status_code, again.headers["Location"]) == (303, "/")


@pytest.mark.parametrize("path", ["//evil.example/x", "/\\evil.example", "///evil.example"])
def test_the_way_back_leads_to_no_other_site(visitor, path):
    answer = visitor.get(f"{path}?token={TOKEN}", base_url="http://localhost")
    assert answer.status_code in (303, 308)
    assert re.match(r"/[^/\\]|(http://localhost/)", answer.headers["Location"])


def test_the_token_may_be_entered_by_hand(visitor):
    form = visitor.get("/", headers=PAGE)
    assert (form.status_code, 'action="/session"' in form.text) == (401, True)
    assert visitor.post("/session", data={"token": "another"}).status_code == 401
    cross = visitor.post("/session", data={"token": TOKEN}, headers={"Origin": "http://evil.example"})
    assert cross.status_code == 403
    assert (
        visitor.post("/session", data={"token": TOKEN}, headers={"Origin": "http://localhost"}).headers["Location"]
        == "/"
    )
    assert visitor.get("/").status_code == 200


@pytest.mark.parametrize("told", ["Bearer wrong", "Bearer ", "Basic " + TOKEN, "Bearer \xff"])
def test_a_program_needs_the_token_in_its_header(visitor, told):
    assert visitor.get("/uploads/none", headers={"Authorization": told}).status_code == 401
    assert visitor.get("/uploads/none", headers={"Authorization": f"Bearer {TOKEN}"}).status_code == 404


def test_a_cookie_of_another_start_is_worth_nothing(visitor, view):
    visitor.get(f"/?token={TOKEN}")
    other = guarded(view, TOKEN).test_client()
    other.set_cookie("gapfinder-8050", visitor.get_cookie("gapfinder-8050").value)
    assert other.get("/").status_code == 401


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../server.py",
        "/assets/..%2f..%2fpyproject.toml",
        "/p/../../etc/passwd/job",
        "/uploads/..%2f..%2fdashboard.db",
        "/assets//etc/passwd",
    ],
)
def test_no_path_leads_out(anybody, path):
    text = anybody.get(path).text
    assert "root:" not in text
    assert "build-backend" not in text
    assert "def serve" not in text
    assert "SQLite format" not in text


def test_errors_are_short_pages_for_people_and_json_for_programs(anybody):
    page = anybody.get("/uploads/<b>", headers=PAGE)
    assert (page.status_code, page.mimetype, "<b>" in page.text) == (404, "text/html", False)
    assert "there is no such upload" in page.text
    program = anybody.post("/healthz")
    assert (program.status_code, program.mimetype) == (405, "application/json")


def test_a_server_starts_answers_and_ends_when_told(tmp_path):
    with running_server(tmp_path / "store") as (process, address):
        place = urlsplit(address)
        connection = HTTPConnection(place.hostname, place.port, timeout=10)
        connection.request("GET", "/healthz")
        assert json.load(connection.getresponse())["ok"] is True
        connection.putrequest("PUT", "/uploads/x?offset=0")
        connection.putheader("Content-Length", str(1 << 40))
        connection.endheaders()
        assert connection.getresponse().status == 413
        connection.close()
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(20) == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_neither_a_kept_connection_nor_a_long_answer_keeps_a_server_from_its_end(tmp_path, number):
    with running_server(tmp_path / "store") as (process, address), ExitStack() as stack:
        place = urlsplit(address)
        kept, waiting, sending = (
            stack.enter_context(closing(HTTPConnection(place.hostname, place.port, timeout=10))) for _ in range(3)
        )
        kept.request("GET", "/healthz")
        assert json.load(kept.getresponse())["ok"] is True
        sending.putrequest("PUT", "/uploads/x?offset=0")
        sending.putheader("Content-Length", "1000")
        sending.endheaders(b"the beginning")
        waiting.request("GET", "/endless")
        assert process.stdout.readline() == "asked\n"
        started = time.monotonic()
        os.kill(process.pid, number)
        assert process.wait(20) == 0
        assert time.monotonic() - started < 4.5  # waitress alone waits for 5 s, twice


def test_a_taken_port_is_told_and_the_usual_one_gives_way_to_the_next(view, monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(InputError, match=rf"cannot serve on 127\.0\.0\.1 port {port}: .*choose another --port"):
            serve(plain_app(), view, serving=Serving(port=port), told=pytest.fail)
        monkeypatch.setattr("dashboards.server.USUAL_PORT", port)
        told = []

        def stop(address: str) -> None:
            told.append(urlsplit(address).port)
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            serve(plain_app(), view, serving=Serving(), told=stop)
    assert port < told[0] < port + 50


@pytest.mark.parametrize(
    ("host", "token", "query"),
    [("127.0.0.1", None, ""), (EVERYWHERE, None, "token="), (EVERYWHERE, TOKEN, f"token={TOKEN}")],
)
def test_a_token_is_made_where_others_reach_the_address(view, host, token, query):
    told = []

    def stop(address: str) -> None:
        told.append(address)
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        serve(plain_app(), view, serving=Serving(host=host, port=0, token=token), told=stop)
    found = urlsplit(told[0]).query
    assert found.startswith(query)
    assert (len(found) > 40) == (host == EVERYWHERE and token is None)


def test_a_short_token_and_an_address_of_another_machine_are_refused(view):
    for serving, reason in (
        (Serving(token=TOKEN[:15]), "fewer than 16"),
        (Serving(host="192.0.2.1", token=TOKEN), "cannot serve on"),
    ):
        with pytest.raises(InputError, match=reason):
            serve(plain_app(), view, serving=serving, told=pytest.fail)
