"""A running dashboard under attack: whatever is sent, it answers others, tells no secret and takes no more than it may."""

from __future__ import annotations

import json
import random
import time
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest
from dashboard_hostile import two_lanes
from databases import Kernel, nsys_database
from hostile_base import sound_bytes
from hostile_clients import TOKEN, Served, served_dashboard
from hostile_files import all_cases

if TYPE_CHECKING:
    from collections.abc import Iterator

QUOTA = 60_000_000
CLIENTS = 50
SECRET = "a-secret-beside-the-store"  # noqa: S105
CASES = {case.name: case for case in all_cases()}
OUTSIDE = (
    "../../secret",
    "..\\..\\secret",
    "/etc/passwd",
    "....//....//secret",
    "..;/secret",
    "secret\0.sqlite",
    "~root",
    "C:\\x",
)


@pytest.fixture(scope="module")
def dashboard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    folder = tmp_path_factory.mktemp("attacked")
    (folder / "secret").write_text(SECRET)
    with served_dashboard(folder, "--quota", f"{QUOTA}B", "--jobs", "1") as one:
        yield one


@pytest.fixture(scope="module")
def profile(dashboard: Served, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The number of a profile that is prepared."""
    number, message = dashboard.upload(two_lanes(tmp_path_factory.mktemp("sound") / "two.sqlite"))
    assert (number is None, message) == (False, "done")
    return number


def page(dashboard: Served, path: str, search: str = ""):
    """Ask for what the browser asks for when it shows a page."""
    outputs = [("content", "children"), ("navigation", "children"), ("title", "data"), ("notice", "children")]
    layout = dashboard.ask("GET", "/_dash-dependencies").json
    (show,) = [one for one in layout if "content.children" in one["output"]]
    values = {"pathname": path, "search": search, "data": "light"}
    body = {
        "output": show["output"],
        "outputs": [{"id": name, "property": what} for name, what in outputs],
        "inputs": [{**one, "value": values[one["property"]]} for one in show["inputs"]],
        "changedPropIds": ["location.pathname"],
        "state": [],
    }
    return dashboard.ask("POST", "/_dash-update-component", json.dumps(body).encode(), Content_Type="application/json")


def encoded(text: str) -> Iterator[str]:
    """Ways to write a path into an address."""
    yield quote(text, safe="/")
    yield quote(text, safe="")
    yield quote(quote(text, safe=""), safe="")
    yield quote(text, safe="").replace("%2F", "%c0%af")
    yield quote(text, safe="/").replace(".", "%2e")


@pytest.mark.parametrize("outside", OUTSIDE)
def test_no_parameter_of_a_route_is_a_path(dashboard, profile, outside):
    routes = ["/p/{}/lanes", "/p/{}/window?columns=9", "/p/{}/job", "/uploads/{}", "/assets/{}", "/{}"]
    routes += ["/_dash-component-suites/{}/x.js", "/_dash-component-suites/dash/{}", f"/p/{profile}/search?name={{}}"]
    for route in routes:
        for text in encoded(outside):
            answer = dashboard.ask("GET", route.format(text))
            assert answer.status < 500, route
            assert SECRET.encode() not in answer.body
            assert b"root:" not in answer.body
            assert b"SQLite format" not in answer.body
    for text in encoded(outside):
        body = json.dumps({"name": outside}).encode()
        for method, route in (("POST", "/runs/{}"), ("POST", "/uploads/{}/finished"), ("DELETE", "/uploads/{}")):
            assert dashboard.ask(method, route.format(text), body).status < 500
    assert dashboard.lives()


@pytest.mark.parametrize(
    "path", ["/p/../../secret/overview", "/p/%2e%2e/overview", "/p/<script>/steps", "/p//overview", "/x\0y"]
)
def test_a_page_of_no_profile_is_told(dashboard, path):
    answer = page(dashboard, path, "?step=<script>&gap=" + "9" * 400)
    assert answer.status == 200
    assert b"<script" not in answer.body.replace(b"\\u003c", b"<") or answer.headers["Content-Type"].startswith(
        "application/json"
    )
    assert SECRET.encode() not in answer.body


@pytest.mark.parametrize("told", ["a\r\nSet-Cookie: x=1", "a%0d%0aSet-Cookie:%20x=1", "\r\n\r\n<script>"])
def test_no_header_can_be_put_into_an_answer(dashboard, told):
    for path in (
        f"/p/x/timeline?token={TOKEN}&a={quote(told)}",
        f"/{quote(told)}?token={TOKEN}",
        f"/?{told.replace(chr(13), '').replace(chr(10), '').replace(' ', '')}",
    ):
        answer = dashboard.ask("GET", path)
        assert "x=1" not in answer.headers.get("Set-Cookie", "")
        assert answer.headers["Content-Security-Policy"].startswith("default-src 'none'")
    body = json.dumps({"name": f"{told}.sqlite", "size": 9_000, "run": "headers-1"}).encode()
    answer = dashboard.ask("POST", "/uploads", body)
    assert answer.status in (201, 400)
    assert "\n" not in answer.json.get("name", "")


def test_an_upload_without_end_is_ended_by_the_server(dashboard):
    """Neither a length that is not kept, nor pieces without end, fill the memory or the disk."""
    before = dashboard.memory()
    head = f"PUT /uploads/x?offset=0 HTTP/1.1\r\nHost: {dashboard.host}\r\nAuthorization: Bearer {TOKEN}\r\n"
    piece = b"100000\r\n" + bytes(1 << 20) + b"\r\n"
    with closing(dashboard.raw(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())) as one:
        sent = 0
        try:
            for _ in range(200):
                one.sendall(piece)
                sent += len(piece)
        except OSError:
            pass
        assert sent < 200 * len(piece), "200 MB were taken"
    with closing(dashboard.raw(f"{head}Content-Length: {1 << 50}\r\n\r\n".encode())) as one:
        assert b"413" in one.recv(100)
    assert dashboard.memory() - before < 100_000_000
    assert dashboard.lives()


def test_what_is_announced_counts_and_the_quota_holds(dashboard):
    announced = [
        dashboard.ask(
            "POST", "/uploads", json.dumps({"name": "a.sqlite", "size": 9_000_000, "run": f"quota-{k:03}"}).encode()
        )
        for k in range(20)
    ]
    taken = [answer for answer in announced if answer.status == 201]
    refused = [answer for answer in announced if answer.status != 201]
    assert 0 < len(taken) <= QUOTA // 9_000_000
    assert {answer.status for answer in refused} == {507}
    assert "uploads may take" in refused[0].json["error"]
    for answer in taken:
        assert dashboard.ask("DELETE", f"/uploads/{answer.json['id']}").status == 204
    assert (
        dashboard.ask(
            "POST", "/uploads", json.dumps({"name": "a.sqlite", "size": -1, "run": "negative"}).encode()
        ).status
        == 400
    )


def test_slices_out_of_order_over_one_another_and_from_many_at_once_end_in_the_right_bytes(dashboard, tmp_path):
    content = sound_bytes()
    told = dashboard.ask(
        "POST", "/uploads", json.dumps({"name": "a.sqlite", "size": len(content), "run": "of-many-slices"}).encode()
    )
    upload, piece = told.json["id"], 4_000
    starts = list(range(0, len(content), piece))

    def send(offset: int, length: int = piece) -> int:
        data = content[offset : offset + length]
        return dashboard.ask(
            "PUT", f"/uploads/{upload}?offset={offset}", data, X_Checksum=f"{zlib.crc32(data):08x}"
        ).status

    assert {send(starts[-1]), send(starts[3], 90)} == {409}, "nothing begins in the middle"
    with ThreadPoolExecutor(12) as pool:
        for at in starts:
            ends = list(pool.map(send, [at] * 4 + [random.Random(at).choice(starts)], [piece] * 5))  # noqa: S311
            assert set(ends) <= {200, 409}
            assert 200 in ends or dashboard.ask("GET", f"/uploads/{upload}").json["offset"] > at
    assert dashboard.ask("GET", f"/uploads/{upload}").json["offset"] == len(content)
    from hashlib import sha256

    digest = json.dumps({"sha256": sha256(content).hexdigest()}).encode()
    assert dashboard.ask("POST", f"/uploads/{upload}/finished", digest).status == 200
    dashboard.ask("DELETE", f"/uploads/{upload}")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a text file", "is a text file"),
        ("an endless view in place of CUPTI_ACTIVITY_KIND_KERNEL", "not an ordinary table"),
        ("text in CUPTI_ACTIVITY_KIND_KERNEL.start", "start is text"),
        ("a zst that unpacks a thousandfold", "times its size"),
        ("terminal in the name of a kernel", "done"),
    ],
)
def test_an_upload_ends_in_a_clear_message(dashboard, name, words, tmp_path):
    _, message = dashboard.upload(CASES[name].make(tmp_path))
    assert words in message
    assert message.isprintable()
    assert dashboard.lives()


def test_slow_clients_do_not_keep_others_out(dashboard):
    """More than a hundred connections that never finish what they ask: everybody else is answered at once."""
    with ExitStack() as stack:
        for number in range(150):
            part = b"GET / HTTP/1.1\r\nHost: x\r\nX-Slow: " if number % 2 else b""
            stack.enter_context(closing(dashboard.raw(part)))
        started = time.monotonic()
        assert dashboard.lives()
        assert time.monotonic() - started < 20
    assert dashboard.lives()


def test_fifty_clients_at_once_are_all_answered_in_bounded_memory(dashboard, profile, tmp_path):
    many = nsys_database(
        tmp_path / "many.sqlite", kernels=[Kernel(start=10 * k, end=10 * k + 6) for k in range(1, 60_000)]
    )
    assert dashboard.upload(many)[1] == "done"
    paths = [f"/p/{profile}/window?columns=4096", f"/p/{profile}/holes", f"/p/{profile}/lanes", "/healthz"]
    pages = ["/", f"/p/{profile}/overview", f"/p/{profile}/steps", f"/p/{profile}/findings"]
    page(dashboard, pages[1])
    before = dashboard.memory()

    def client(number: int) -> list[int]:
        dice = random.Random(number)  # noqa: S311
        statuses = [dashboard.ask("GET", dice.choice(paths)).status for _ in range(4)]
        statuses.append(page(dashboard, dice.choice(pages)).status)
        body = json.dumps({"name": "a.sqlite", "size": 9_000, "run": f"client-{number:03}"}).encode()
        upload = dashboard.ask("POST", "/uploads", body)
        statuses += [upload.status, dashboard.ask("DELETE", f"/uploads/{upload.json['id']}").status]
        return statuses

    with ThreadPoolExecutor(CLIENTS) as pool:
        answers = list(pool.map(client, range(CLIENTS)))
    assert {status for one in answers for status in one} == {200, 201, 204}
    assert dashboard.memory() - before < 300_000_000
    assert dashboard.lives()


def test_the_token_is_in_no_log_no_page_and_no_address(dashboard, profile):
    for path in (
        f"/?token={TOKEN}",
        f"/p/{profile}/overview?token={TOKEN}",
        f"/p/{profile}/window?columns=x&token={TOKEN}",
    ):
        answer = dashboard.ask("GET", path, Accept="text/html", Authorization="Basic eDp4")
        assert answer.status == 303
        assert TOKEN not in answer.headers["Location"] + answer.body.decode() + answer.headers.get("Set-Cookie", "")
        assert answer.headers["Referrer-Policy"] == "same-origin"
    for path in ("/", "/_dash-layout", "/_dash-dependencies", f"/p/{profile}/lanes", "/none"):
        assert TOKEN.encode() not in dashboard.ask("GET", path).body
    wrong = dashboard.ask("GET", "/", Authorization=f"Bearer {TOKEN}x")
    assert (wrong.status, TOKEN.encode() in wrong.body) == (401, False)
    with closing(dashboard.raw(f"NONSENSE /?token={TOKEN}\r\n\r\n".encode())) as one:
        assert TOKEN.encode() not in one.recv(4_000)
    assert TOKEN not in dashboard.said
    assert "Traceback" not in dashboard.said
    assert "Task queue depth" not in dashboard.said, "whoever asks fills the log"
