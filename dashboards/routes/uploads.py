"""Takes in files slice by slice, from the browser and from `gapfinder upload`; docs/dashboard.md has the protocol."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, TypeVar

import msgspec
from flask import Response, abort, jsonify, request

from dashboards.ids import Page, address
from dashboards.store.uploads import MOST_SLICE_BYTES, Uploads

if TYPE_CHECKING:
    from flask import Flask

    from dashboards.store.records import Job, Upload
    from dashboards.store.room import Quota
    from dashboards.view import View

_CHECKSUM = "X-Checksum"
_MOST_JSON_BYTES = 64_000


class _Announced(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    size: int
    run: str
    position: int = 0


class _Finished(msgspec.Struct, forbid_unknown_fields=True):
    sha256: str


class _Combined(msgspec.Struct, forbid_unknown_fields=True):
    name: str | None = None


_Body = TypeVar("_Body", _Announced, _Finished, _Combined)


def register(server: Flask, view: View, *, quota: Quota | None = None) -> None:
    """Answer what concerns uploads, and how the preparation of a profile goes."""
    uploads = Uploads(view.store, quota=quota)

    def begin() -> tuple[Response, HTTPStatus]:
        told = _body(_Announced)
        upload = uploads.begin(name=told.name, size_bytes=told.size, run=told.run, position=told.position)
        return jsonify(_told(upload)), HTTPStatus.CREATED

    def look(upload: str) -> Response:
        return jsonify(_told(uploads.get(upload)))

    def write(upload: str) -> Response:
        if request.content_length is None:
            abort(HTTPStatus.LENGTH_REQUIRED, "a slice needs its length, in the header Content-Length")
        offset = _number(request.args.get("offset", ""), base=10)
        checksum = _number(request.headers.get(_CHECKSUM, ""), base=16)
        data = request.get_data(cache=False)
        return jsonify(_told(uploads.write(upload, offset=offset, data=data, checksum=checksum)))

    def finish(upload: str) -> Response:
        return jsonify(_told(uploads.finish(upload, sha256=_body(_Finished).sha256)))

    def cancel(upload: str) -> tuple[str, HTTPStatus]:
        uploads.cancel(upload)
        return "", HTTPStatus.NO_CONTENT

    def combine(run: str) -> tuple[Response, HTTPStatus]:
        profile = uploads.combine(run, name=_body(_Combined).name)
        job = profile.job if profile.is_ready else view.queue.submit(profile.id)
        page = address(Page.OVERVIEW, profile=profile.id)
        return jsonify(profile=profile.id, page=page, job=_job(job)), HTTPStatus.CREATED

    def job_of(profile: str) -> Response:
        return jsonify(_job(view.store.profile(profile).job))

    server.add_url_rule("/uploads", "uploads.begin", begin, methods=["POST"])
    server.add_url_rule("/uploads/<upload>", "uploads.look", look)
    server.add_url_rule("/uploads/<upload>", "uploads.write", write, methods=["PUT"])
    server.add_url_rule("/uploads/<upload>", "uploads.cancel", cancel, methods=["DELETE"])
    server.add_url_rule("/uploads/<upload>/finished", "uploads.finish", finish, methods=["POST"])
    server.add_url_rule("/runs/<run>", "uploads.combine", combine, methods=["POST"])
    server.add_url_rule("/p/<profile>/job", "uploads.job", job_of)


def _told(upload: Upload) -> dict[str, str | int]:
    return {
        "id": upload.id,
        "name": upload.name,
        "size": upload.size_bytes,
        "offset": upload.offset_bytes,
        "most": MOST_SLICE_BYTES,
    }


def _job(job: Job | None) -> dict[str, str | float | None] | None:
    if job is None:
        return None
    return {"state": job.state, "stage": job.stage, "progress": job.progress, "message": job.message}


def _body(kind: type[_Body]) -> _Body:
    if request.content_length is None or request.content_length > _MOST_JSON_BYTES:
        abort(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
    try:
        return msgspec.json.decode(request.get_data(cache=False), type=kind)
    except msgspec.MsgspecError as error:
        abort(HTTPStatus.BAD_REQUEST, f"not the JSON that belongs here: {error}")


def _number(text: str, *, base: int) -> int:
    """Return a whole number in plain ASCII digits; anything else is answered with 400."""
    if not text.isascii() or not text.isalnum():
        abort(HTTPStatus.BAD_REQUEST, f"a slice needs ?offset=N and the header {_CHECKSUM} (its CRC-32 in hexadecimal)")
    try:
        return int(text, base)
    except ValueError:
        abort(HTTPStatus.BAD_REQUEST, f"{text[:20]!r} is no number")
