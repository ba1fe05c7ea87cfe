"""What routes answer when something is wrong: short, plain, and never more than the one who asked may know."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING

from dash.exceptions import DependencyException
from flask import Response, jsonify, request
from markupsafe import escape
from werkzeug.exceptions import HTTPException

from dashboards.store.room import NoRoomError
from dashboards.store.uploads import (
    DamagedSliceError,
    MisplacedSliceError,
    RefusedSliceError,
    UnknownUploadError,
)
from gapfinder.errors import InputError

if TYPE_CHECKING:
    from flask import Flask

_STATUS = {
    MisplacedSliceError: HTTPStatus.CONFLICT,
    DamagedSliceError: HTTPStatus.UNPROCESSABLE_ENTITY,
    UnknownUploadError: HTTPStatus.NOT_FOUND,
    NoRoomError: HTTPStatus.INSUFFICIENT_STORAGE,
}
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title} - gapfinder</title>
<body style="font: 16px/1.5 system-ui, sans-serif; margin: 15vh auto; max-width: 36em; padding: 0 1em">
<h1 style="font-size: 1.3em">{title}</h1>
{content}
</body></html>
"""


def register(server: Flask) -> None:
    """Answer errors of HTTP as short pages, or as JSON to who asks for it, and what cannot be used with its reason."""
    server.register_error_handler(HTTPException, _http_error)
    server.register_error_handler(InputError, _input_error)
    server.register_error_handler(DependencyException, _no_such_script)


def page(status: HTTPStatus, *, title: str, content: str) -> Response:
    """Return a small page of its own; `title` is escaped, `content` is HTML."""
    return Response(_PAGE.format(title=escape(title), content=content), status=status, mimetype="text/html")


def refused(status: HTTPStatus, reason: str) -> Response:
    """Return why something is not done: JSON to programs, a page to people."""
    if request.accept_mimetypes.accept_html and request.method == "GET":
        return page(status, title=status.phrase, content=f"<p>{escape(reason)}</p>")
    answer = jsonify(error=reason)
    answer.status_code = status
    return answer


def _http_error(error: HTTPException) -> Response:
    status = HTTPStatus(error.code or HTTPStatus.INTERNAL_SERVER_ERROR)
    answer = refused(status, error.description or status.phrase)
    allowed = error.get_headers() if status is HTTPStatus.METHOD_NOT_ALLOWED else []
    answer.headers.extend([header for header in allowed if header[0] == "Allow"])
    return answer


def _no_such_script(_: DependencyException) -> Response:
    """Answer a script that Dash does not have, which it takes for a fault of its own."""
    return refused(HTTPStatus.NOT_FOUND, "there is no such script")


def _input_error(error: InputError) -> Response:
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), HTTPStatus.BAD_REQUEST)
    answer = refused(status, str(error))
    if isinstance(error, RefusedSliceError):
        answer = jsonify(error=str(error), offset=error.offset)
        answer.status_code = status
    return answer
