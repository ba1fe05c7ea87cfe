"""Speaks HTTP with a dashboard: one connection, kept open, and answers as JSON."""

from __future__ import annotations

import http.client
import json
import ssl
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Self
from urllib.parse import parse_qs, urlsplit

from gapfinder.errors import InputError, visible

if TYPE_CHECKING:
    from collections.abc import Mapping

PATIENCE_S = 15.0
"""How long a dashboard may say nothing to what it is asked, as a rule."""
_CONNECTED_WITHIN_S = 5.0
_LONGEST_ANSWER = 1 << 20


class BrokenConnectionError(Exception):
    """The dashboard does not answer now; asked again, it may."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What the dashboard said; `told` is empty where that was no JSON object."""

    status: int
    told: Mapping[str, object]

    def text(self, name: str) -> str:
        """Return a text of the answer; InputError where there is none."""
        value = self.told.get(name)
        if not isinstance(value, str):
            raise self._unexpected(name)
        return value

    def number(self, name: str, *, most: int) -> int:
        """Return a whole number of the answer from 0 to `most`; InputError where there is none."""
        value = self.told.get(name)
        if not isinstance(value, int) or not 0 <= value <= most:
            raise self._unexpected(name)
        return value

    def _unexpected(self, name: str) -> InputError:
        return InputError(
            f"that is no gapfinder dashboard, or one of another version: {name!r} is missing or wrong in its answer "
            f"(status {self.status}); check the address"
        )


class Client:
    """A dashboard at an address; `url` is as the dashboard prints it, and a token in it is used where none is given."""

    def __init__(self, url: str, *, token: str | None = None) -> None:
        try:
            parts = urlsplit(url)
            host, port = parts.hostname, parts.port
        except ValueError as error:
            raise InputError(f"{url!r} is no address: {error}") from error
        if parts.scheme not in ("http", "https") or not host:
            raise InputError(f"a dashboard's address is such as http://127.0.0.1:8050, not {parts.netloc or url!r}")
        self.url = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"
        self._token = token or next(iter(parse_qs(parts.query).get("token", [])), None)
        if self._token is not None and not (self._token.isascii() and self._token.isprintable()):
            raise InputError("the token holds a character that no token has; copy it again")
        kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
        self._connection = kind(host, port)  # a certificate is verified unless told otherwise
        self._is_met = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._connection.close()

    def ask(
        self,
        method: str,
        path: str,
        *,
        body: bytes | Mapping[str, object] | None = None,
        checksum: int | None = None,
        patience_s: float = PATIENCE_S,
    ) -> Answer:
        """Return what the dashboard says.

        Raises:
            BrokenConnectionError: it does not answer now or within `patience_s`, or says so.
            InputError: it wants another token, refuses what is asked, its certificate is not trusted, or nothing has
                ever been there.
        """
        headers = {"Accept": "application/json"}
        headers |= {} if self._token is None else {"Authorization": f"Bearer {self._token}"}
        headers |= {} if checksum is None else {"X-Checksum": f"{checksum:08x}"}
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        try:
            self._connect(patience_s)
            self._connection.request(method, path, body=content, headers=headers)
            response = self._connection.getresponse()
            answer = Answer(response.status, _object(response.read(_LONGEST_ANSWER)))
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise BrokenConnectionError(str(error) or type(error).__name__) from error
        if answer.status in (HTTPStatus.BAD_GATEWAY, HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.GATEWAY_TIMEOUT):
            raise BrokenConnectionError(f"status {answer.status}")
        self._check(answer)
        return answer

    def _connect(self, patience_s: float) -> None:
        """Connect where there is no connection, and give it this patience; InputError where nobody was ever there."""
        try:
            if self._connection.sock is None:
                self._connection.timeout = _CONNECTED_WITHIN_S
                self._connection.connect()
        except ssl.SSLCertVerificationError as error:
            self._connection.close()
            raise InputError(
                f"{self.url}: its certificate is not trusted: {error.verify_message}; SSL_CERT_FILE names further ones"
            ) from error
        except OSError as error:
            if self._is_met:  # it may be starting again
                raise
            why = error.strerror or str(error)
            raise InputError(f"nothing answers at {self.url} ({why}); check the address and that it runs") from error
        self._is_met = True
        self._connection.sock.settimeout(patience_s)

    def _check(self, answer: Answer) -> None:
        """Raise InputError for what was refused; where a slice was, the answer tells where the next one begins."""
        if answer.status == HTTPStatus.UNAUTHORIZED:
            raise InputError(f"{self.url} needs its token, or another one; give it by --token or GAPFINDER_TOKEN")
        if answer.status >= HTTPStatus.BAD_REQUEST and "offset" not in answer.told:
            reason = answer.told.get("error")
            told = visible(reason) if isinstance(reason, str) else f"status {answer.status}; is it a dashboard?"
            raise InputError(f"{self.url} refused it: {told}")


def _object(content: bytes) -> Mapping[str, object]:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}
