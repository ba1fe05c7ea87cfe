"""Uploads: slices, resuming, checksums, room, and what no request may do."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import re
import zlib
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from dashboard_servers import plain_app
from documents import SPELLED, words

from dashboards.routes.session import Access
from dashboards.server import guard, make_view
from dashboards.store.leftovers import GIVEN_UP_S, sweep
from dashboards.store.room import NoRoomError, Quota
from dashboards.store.store import Store
from dashboards.store.uploads import (
    MOST_SLICE_BYTES,
    DamagedSliceError,
    MisplacedSliceError,
    UnknownUploadError,
    Uploads,
)
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from flask.testing import FlaskClient
    from sqlite_utils import Database

    from dashboards.store.records import StoredProfile

DATABASE = b"SQLite format 3\0" + bytes(range(256)) * 40
DIGEST = hashlib.sha256(DATABASE).hexdigest()
RUN = "run-of-a-test"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    store = Store(tmp_path / "store")
    yield store
    store.close()


@pytest.fixture
def uploads(store: Store) -> Uploads:
    return Uploads(store)


def send(uploads: Uploads, content: bytes = DATABASE, *, name: str = "rank0.sqlite", position: int = 0) -> str:
    upload = uploads.begin(name=name, size_bytes=len(content), run=RUN, position=position)
    for offset in range(upload.offset_bytes, len(content), 4_000):
        part = content[offset : offset + 4_000]
        uploads.write(upload.id, offset=offset, data=part, checksum=zlib.crc32(part))
    uploads.finish(upload.id, sha256=hashlib.sha256(content).hexdigest())
    return upload.id


def uploaded(uploads: Uploads, *contents: bytes) -> StoredProfile:
    for position, content in enumerate(contents):
        send(uploads, content, position=position)
    return uploads.combine(RUN)


def test_a_file_in_slices_becomes_a_profile_with_its_bytes(store, uploads):
    profile = uploaded(uploads, DATABASE)
    (file,) = profile.files
    assert file.read_bytes() == DATABASE
    assert file.is_relative_to(store.places.files)
    assert (profile.name, profile.is_uploaded, profile.size_bytes, profile.job) == ("rank0", True, len(DATABASE), None)
    assert store.profiles() == [profile]
    assert [*store.places.incoming.iterdir(), *store.places.trash.iterdir()] == []


def test_nothing_is_shown_before_all_of_a_run_is_here(store, uploads):
    send(uploads)
    begun = uploads.begin(name="rank1.sqlite", size_bytes=50, run=RUN, position=1)
    with pytest.raises(InputError, match=r"rank1\.sqlite is not here as a whole yet"):
        uploads.combine(RUN)
    assert store.profiles() == []
    uploads.cancel(begun.id)
    assert uploads.combine(RUN) == store.profiles()[0]


def test_several_files_are_one_profile_whatever_their_order(store, uploads):
    other = DATABASE + b"more"
    both = uploaded(uploads, DATABASE, other)
    assert [file.read_bytes() for file in both.files] == [DATABASE, other]
    assert len({file.name for file in both.files}) == 2
    assert uploaded(uploads, other, DATABASE, other).id == both.id
    assert store.profiles() == [both]


def test_a_lost_answer_is_given_again(uploads):
    first = uploaded(uploads, DATABASE)
    assert uploads.combine(RUN) == first
    with pytest.raises(UnknownUploadError):
        uploads.combine("another-run")


def test_a_slice_in_the_wrong_place_tells_the_right_one(uploads):
    upload = uploads.begin(name="a.sqlite", size_bytes=len(DATABASE), run=RUN)
    uploads.write(upload.id, offset=0, data=DATABASE[:100], checksum=zlib.crc32(DATABASE[:100]))
    for offset in (0, 99, 101):
        with pytest.raises(MisplacedSliceError) as error:
            uploads.write(upload.id, offset=offset, data=DATABASE[100:], checksum=zlib.crc32(DATABASE[100:]))
        assert error.value.offset == 100
    with pytest.raises(MisplacedSliceError):
        uploads.finish(upload.id, sha256=DIGEST)


def test_a_damaged_slice_changes_nothing(uploads):
    upload = uploads.begin(name="a.sqlite", size_bytes=len(DATABASE), run=RUN)
    with pytest.raises(DamagedSliceError) as error:
        uploads.write(upload.id, offset=0, data=DATABASE, checksum=zlib.crc32(DATABASE) ^ 1)
    assert (error.value.offset, uploads.get(upload.id).offset_bytes) == (0, 0)


def test_a_file_of_another_checksum_is_gone(store, uploads):
    upload = uploads.begin(name="a.sqlite", size_bytes=len(DATABASE), run=RUN)
    uploads.write(upload.id, offset=0, data=DATABASE, checksum=zlib.crc32(DATABASE))
    with pytest.raises(InputError, match="arrived damaged"):
        uploads.finish(upload.id, sha256="0" * 64)
    with pytest.raises(UnknownUploadError):
        uploads.get(upload.id)
    assert list(store.places.incoming.iterdir()) == []


def test_the_same_file_again_goes_on_where_it_ended_also_with_another_server(store, uploads):
    begun = uploads.begin(name="a.sqlite", size_bytes=len(DATABASE), run=RUN)
    uploads.write(begun.id, offset=0, data=DATABASE[:500], checksum=zlib.crc32(DATABASE[:500]))
    other = Store(store.places.folder)
    resumed = Uploads(other).begin(name="a.sqlite", size_bytes=len(DATABASE), run=RUN)
    other.close()
    assert (resumed.id, resumed.offset_bytes) == (begun.id, 500)
    anew = uploads.begin(name="a.sqlite", size_bytes=len(DATABASE) + 1, run=RUN)
    assert (anew.id != begun.id, anew.offset_bytes) == (True, 0)


def test_what_was_written_and_never_committed_is_written_again(store, uploads):
    begun = uploads.begin(name="rank0.sqlite", size_bytes=len(DATABASE), run=RUN)
    uploads.write(begun.id, offset=0, data=DATABASE[:500], checksum=zlib.crc32(DATABASE[:500]))
    part = store.places.incoming / begun.id
    part.write_bytes(part.read_bytes() + b"half a slice of a server that was killed")
    assert uploads.get(begun.id).offset_bytes == 500
    part.write_bytes(DATABASE[:300])  # and of a machine that lost its power
    assert uploads.get(begun.id).offset_bytes == 300
    with pytest.raises(MisplacedSliceError):
        uploads.write(begun.id, offset=500, data=DATABASE[500:], checksum=zlib.crc32(DATABASE[500:]))
    rest = DATABASE[300:]
    uploads.write(begun.id, offset=300, data=rest, checksum=zlib.crc32(rest))
    uploads.finish(begun.id, sha256=DIGEST)
    assert uploads.combine(RUN).files[0].read_bytes() == DATABASE


@pytest.mark.parametrize(
    ("content", "name", "reason"),
    [
        (b"#!/bin/sh\necho", "run.sqlite", "is a text file"),
        (b"\x89PNG\r\n\x1a\n" + bytes(20), "picture.sqlite", "neither a SQLite database nor an nsys report"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a.nsys-rep", "Git LFS pointer"),
    ],
)
def test_what_is_no_profile_is_refused_with_its_first_slice(uploads, content, name, reason):
    upload = uploads.begin(name=name, size_bytes=10**9, run=RUN)
    with pytest.raises(InputError, match=reason):
        uploads.write(upload.id, offset=0, data=content, checksum=zlib.crc32(content))
    with pytest.raises(UnknownUploadError):
        uploads.get(upload.id)


@pytest.mark.parametrize(
    "start", [b"SQLite format 3\0", b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"NVIDIA Tegra Profiler Report"]
)
def test_what_may_be_a_profile_is_taken(uploads, start):
    assert uploaded(uploads, start + b"the rest").size_bytes == len(start) + 8


@pytest.mark.parametrize(
    "name", ["../../../etc/passwd", "/etc/passwd", "..", ".", "a\0b.sqlite", "..\\..\\x.sqlite", ".hidden", "x" * 5_000]
)
def test_a_name_is_never_a_path(store, uploads, name):
    send(uploads, name=name)
    (file,) = uploads.combine(RUN).files
    assert file.parent.parent == store.places.files
    assert not file.name.startswith(".")
    assert file.read_bytes() == DATABASE


def test_names_that_say_nothing_are_refused(uploads):
    with pytest.raises(InputError, match="may not be empty"):
        uploads.begin(name=" \n ", size_bytes=1, run=RUN)


@pytest.mark.parametrize("upload", ["../dashboard.db", "..", "0" * 32, "", "a/b"])
def test_an_id_is_never_a_path(store, uploads, upload):
    before = sorted(store.places.folder.rglob("*"))
    with pytest.raises(UnknownUploadError):
        uploads.write(upload, offset=0, data=DATABASE, checksum=zlib.crc32(DATABASE))
    uploads.cancel(upload)
    assert sorted(store.places.folder.rglob("*")) == before


@pytest.mark.parametrize(
    ("size", "run", "position"), [(0, RUN, 0), (-1, RUN, 0), (9, "../../x", 0), (9, RUN, -1), (9, "a", 0)]
)
def test_what_cannot_be_an_upload_is_refused(uploads, size, run, position):
    with pytest.raises(InputError):
        uploads.begin(name="a.sqlite", size_bytes=size, run=run, position=position)


def test_a_slice_ends_with_its_file(uploads):
    upload = uploads.begin(name="a.sqlite", size_bytes=len(DATABASE) - 1, run=RUN)
    for data in (DATABASE, b""):
        with pytest.raises(InputError, match="does not fit"):
            uploads.write(upload.id, offset=0, data=data, checksum=zlib.crc32(data))


def test_the_quota_counts_what_is_here_and_what_was_announced(store):
    uploads = Uploads(store, quota=Quota(total_bytes=3 * len(DATABASE), reserve_bytes=0))
    uploaded(uploads, DATABASE)
    announced = uploads.begin(name="b.sqlite", size_bytes=len(DATABASE), run="another-run")
    with pytest.raises(NoRoomError, match="remove profiles"):
        uploads.begin(name="c.sqlite", size_bytes=len(DATABASE) + 1, run="a-third-run")
    uploads.cancel(announced.id)
    uploads.begin(name="c.sqlite", size_bytes=len(DATABASE) + 1, run="a-third-run")


def test_the_disk_keeps_its_reserve(store):
    uploads = Uploads(store, quota=Quota(total_bytes=10**18, reserve_bytes=10**17))
    with pytest.raises(NoRoomError, match="disk has room for 0 B"):
        uploads.begin(name="a.sqlite", size_bytes=1, run=RUN)


def test_a_full_disk_is_told_and_the_upload_goes_on_when_there_is_room(uploads, monkeypatch):
    upload = uploads.begin(name="rank0.sqlite", size_bytes=len(DATABASE), run=RUN)

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "fdatasync", full)
        with pytest.raises(NoRoomError, match="No space left on device"):
            uploads.write(upload.id, offset=0, data=DATABASE, checksum=zlib.crc32(DATABASE))
    assert uploads.get(upload.id).offset_bytes == 0
    send(uploads)
    assert uploads.combine(RUN).files[0].read_bytes() == DATABASE


def test_an_upload_given_up_is_swept_and_one_under_way_is_not(store, uploads):
    kept, old = (uploads.begin(name="a.sqlite", size_bytes=len(DATABASE), run=run) for run in ("kept-run", "old-run-"))
    for upload in (kept, old):
        uploads.write(upload.id, offset=0, data=DATABASE[:50], checksum=zlib.crc32(DATABASE[:50]))
    with store.ledger.transaction() as database:
        database.table("uploads").update(old.id, {"changed_s": old.changed_s - GIVEN_UP_S - 1})
    (store.places.incoming / "without-a-row").write_bytes(b"x")
    sweep(store)
    assert [path.name for path in store.places.incoming.iterdir()] == [kept.id]
    assert uploads.get(kept.id) == replace(uploads.get(kept.id), offset_bytes=50)


def test_a_death_between_the_folder_and_its_row_loses_nothing(store, uploads, monkeypatch):
    send(uploads)

    def killed(*arguments: object, **options: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("dashboards.store.uploads.insert_profile", killed)
        with pytest.raises(KeyboardInterrupt):
            uploads.combine(RUN)
    assert store.profiles() == []
    assert len(list(store.places.files.iterdir())) == 1
    sweep(store)
    assert list(store.places.files.iterdir()) == []
    assert uploads.combine(RUN).files[0].read_bytes() == DATABASE


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FlaskClient]:
    view = make_view(tmp_path_factory.mktemp("served") / "store")
    app = plain_app()
    access = Access(hosts=frozenset({"localhost"}), port=8050, token=None)
    guard(app, view, access=access, quota=Quota(total_bytes=10**6, reserve_bytes=0))
    yield app.server.test_client()
    view.store.close()


def announce(client: FlaskClient, **told: object) -> str:
    """An upload of a run of its own."""
    run = os.urandom(8).hex()
    answer = client.post("/uploads", json={"name": "a.sqlite", "size": len(DATABASE), "run": run} | told)
    assert answer.status_code == 201, answer.text
    return answer.json["id"]


def put(client: FlaskClient, upload: str, data: bytes, *, offset: object = 0, checksum: str | None = None):
    headers = {"X-Checksum": f"{zlib.crc32(data):08x}" if checksum is None else checksum}
    return client.put(f"/uploads/{upload}?offset={offset}", data=data, headers=headers)


def test_the_protocol_from_the_first_slice_to_the_job(client):
    upload = announce(client, run=RUN)
    assert put(client, upload, DATABASE[:7_000]).json["offset"] == 7_000
    assert client.get(f"/uploads/{upload}").json["offset"] == 7_000
    lost = put(client, upload, DATABASE[:7_000])
    assert (lost.status_code, lost.json["offset"]) == (409, 7_000)
    damaged = put(client, upload, DATABASE[7_000:], offset=7_000, checksum="0")
    assert (damaged.status_code, damaged.json["offset"]) == (422, 7_000)
    assert put(client, upload, DATABASE[7_000:], offset=7_000).json["offset"] == len(DATABASE)
    assert client.post(f"/uploads/{upload}/finished", json={"sha256": DIGEST}).status_code == 200
    made = client.post(f"/runs/{RUN}", json={"name": "mine"})
    profile = made.json["profile"]
    assert (made.status_code, made.json["page"], made.json["job"]["state"]) == (201, f"/p/{profile}/overview", "queued")
    assert client.get(f"/p/{profile}/job").json == made.json["job"]


def test_the_protocol_answers_as_docs_dashboard_md_says(client):
    rows = re.findall(r"\| `([A-Z]+ /\S+)` \|(?: [^|]+)? \| ([0-9]{3})([^|]*) \|", words("docs/dashboard.md"))
    told = {request: (int(code), set(re.findall(r"`(\w+)`", rest))) for request, code, rest in rows}
    assert f"an own protocol of {SPELLED[len(told)]} requests." in words("docs/design.md")
    run = "run-as-it-is-told"
    begun = client.post("/uploads", json={"name": "a.sqlite", "size": len(DATABASE), "run": run})
    upload = begun.json["id"]
    answers = {
        "POST /uploads": begun,
        "PUT /uploads/ID?offset=N": put(client, upload, DATABASE),
        "GET /uploads/ID": client.get(f"/uploads/{upload}"),
        "POST /uploads/ID/finished": client.post(f"/uploads/{upload}/finished", json={"sha256": DIGEST}),
        "POST /runs/RUN": (made := client.post(f"/runs/{run}", json={})),
        "GET /p/PROFILE/job": client.get(f"/p/{made.json['profile']}/job"),
        "DELETE /uploads/ID": client.delete("/uploads/none"),
    }
    assert {request: answer.status_code for request, answer in answers.items()} == {
        request: code for request, (code, _) in told.items()
    }
    assert [request for request, (_, names) in told.items() if names - set(answers[request].json or ())] == []


def test_a_file_of_another_checksum_is_gone_as_docs_dashboard_md_says(client):
    (code,) = re.findall(r"([0-9]{3}) where it differs, and the upload is gone", words("docs/dashboard.md"))
    upload = announce(client)
    put(client, upload, DATABASE)
    assert client.post(f"/uploads/{upload}/finished", json={"sha256": "0" * 64}).status_code == int(code)
    assert client.get(f"/uploads/{upload}").status_code == 404


@pytest.mark.parametrize(
    ("offset", "checksum"),
    [("", "00"), ("-1", "00"), ("1_0", "00"), ("٣", "00"), ("1e3", "00"), ("0", ""), ("0", "xyz")],
)
def test_numbers_that_are_none_are_refused(client, offset, checksum):
    assert put(client, announce(client), DATABASE, offset=offset, checksum=checksum).status_code == 400


def test_bodies_have_a_length_and_a_limit(client):
    upload = announce(client, size=500_000)
    assert put(client, upload, bytes(MOST_SLICE_BYTES + 1)).status_code == 413
    endless = client.put(f"/uploads/{upload}?offset=0", headers={"X-Checksum": "0", "Transfer-Encoding": "chunked"})
    assert endless.status_code in (400, 411)
    assert client.post("/uploads", data=b"[" * 70_000).status_code == 413
    assert client.post("/uploads", data=b"[" * 60_000).status_code == 400
    assert client.get(f"/uploads/{upload}").json["offset"] == 0


@pytest.mark.parametrize(
    "told",
    [{}, {"name": 1}, {"name": "a", "size": "9", "run": RUN}, {"name": "a", "size": 9, "run": RUN, "path": "/"}, []],
)
def test_other_json_is_refused_with_what_is_wrong(client, told):
    answer = client.post("/uploads", data=json.dumps(told))
    assert (answer.status_code, "not the JSON" in answer.json["error"]) == (400, True)


def test_no_room_and_no_such_upload_have_their_own_status(client):
    assert client.post("/uploads", json={"name": "a.sqlite", "size": 10**7, "run": "too-large"}).status_code == 507
    assert client.get("/uploads/none").status_code == 404
    assert client.post("/uploads/none/finished", json={"sha256": DIGEST}).status_code == 404
    assert client.post("/runs/none-such", json={}).status_code == 404
    assert client.delete("/uploads/none").status_code == 204
    assert client.get("/p/none/job").status_code == 400


def test_a_profile_that_cannot_be_written_down_keeps_its_uploads(store, uploads, monkeypatch):
    """As on a disk that is full when all is to be committed: the files must not have gone already."""
    send(uploads)
    transaction = store.ledger.transaction

    @contextmanager
    def without_commit() -> Iterator[Database]:
        with transaction() as database:
            yield database
            raise InputError("the database cannot be used: database or disk is full")

    monkeypatch.setattr(store.ledger, "transaction", without_commit)
    with pytest.raises(InputError, match="disk is full"):
        uploads.combine(RUN)
    monkeypatch.undo()
    assert store.profiles() == []
    assert uploads.combine(RUN).files[0].read_bytes() == DATABASE
