"""Decides who may ask: the token, the cookie it is exchanged for, and the Host and Origin of every request."""

from __future__ import annotations

import ipaddress
import secrets
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode, urlsplit

from flask import Response, request

from dashboards.routes.answers import page, refused
from dashboards.routes.health import HEALTH

if TYPE_CHECKING:
    from flask import Flask

_SAFE = ("GET", "HEAD", "OPTIONS")
_SESSION = "/session"
_LOGIN = f"""<p>Open the address that the dashboard printed when it was started, or enter its token.</p>
<form method="post" action="{_SESSION}">
<input name="token" type="password" autocomplete="off" aria-label="Token" autofocus>
<button>Continue</button></form>
<p>You came from another site and were here before? <a href="">Go on</a>.</p>"""
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # "no-referrer" would make a form's Origin null
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Embedder-Policy": "require-corp",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Access:
    """Who may ask one server.

    Attributes:
        hosts: names under which it may be asked, lower case; addresses in digits are always right, as no rebinding
            of DNS can produce them.
        port: its own; cookies are shared by all servers of a host, so the cookie's name holds it.
        token: what has to be known; None for everybody who reaches it.
        session: what the cookie holds; another one for each start of a server.
    """

    hosts: frozenset[str]
    port: int
    token: str | None
    session: str = field(default_factory=lambda: secrets.token_urlsafe(32), repr=False)

    @property
    def cookie(self) -> str:
        """Name of the cookie."""
        return f"gapfinder-{self.port}"


def register(server: Flask, access: Access, *, script_hashes: tuple[str, ...] = ()) -> None:
    """Refuse what may not be asked before any route sees it, and add the security headers to every answer."""
    policy = _content_policy(script_hashes)

    def check() -> Response | None:
        if not _is_our_name(request.host, access):
            return refused(
                HTTPStatus.MISDIRECTED_REQUEST,
                f"this dashboard is not called {request.host}; ask it by its address, or start it with --allow-host",
            )
        if request.method not in _SAFE and _is_from_elsewhere():
            return refused(HTTPStatus.FORBIDDEN, "the request comes from another site")
        return None if request.path == HEALTH else _authorise(access)

    def secure(answer: Response) -> Response:
        answer.headers.update(_HEADERS)
        answer.headers["Content-Security-Policy"] = policy
        answer.headers.setdefault("Cache-Control", "no-store")
        return answer

    server.before_request(check)
    server.after_request(secure)


def _authorise(access: Access) -> Response | None:
    """Return None for who may go on; else the way in."""
    if access.token is None or _has_session(access):
        return None if "token" not in request.args else _without_token()
    kind, _, told = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() == "bearer":
        if _same(told.strip(), access.token):
            return None
        return refused(HTTPStatus.UNAUTHORIZED, "the token is another one")
    posted = request.form.get("token", "") if request.path == _SESSION and request.method == "POST" else None
    if _same(request.args.get("token", "") if posted is None else posted, access.token):
        return _logged_in(access)
    if request.method == "GET" and request.accept_mimetypes.accept_html:
        return page(HTTPStatus.UNAUTHORIZED, title="This dashboard needs its token", content=_LOGIN)
    return refused(HTTPStatus.UNAUTHORIZED, "this dashboard needs its token")


def _logged_in(access: Access) -> Response:
    answer = _without_token()
    answer.set_cookie(
        access.cookie, access.session, httponly=True, samesite="Strict", secure=request.is_secure, path="/"
    )
    return answer


def _without_token() -> Response:
    """Send the browser to the same page by an address that may be shared."""
    rest = [(name, value) for name, value in request.args.items(multi=True) if name != "token"]
    path = "/" if request.path == _SESSION else "/" + request.path.lstrip("/\\")  # never to another site
    place = quote(path) + (f"?{urlencode(rest)}" if rest else "")
    return Response(status=HTTPStatus.SEE_OTHER, headers={"Location": place})


def _has_session(access: Access) -> bool:
    return _same(request.cookies.get(access.cookie, ""), access.session)


def _same(told: str, expected: str) -> bool:
    """Compare in a time that does not depend on where they differ."""
    return secrets.compare_digest(told.encode("utf-8", "surrogatepass"), expected.encode())


def _is_our_name(host: str, access: Access) -> bool:
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    if name in access.hosts:
        return True
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_from_elsewhere() -> bool:
    """Say whether a page of another site makes the browser ask; a program that is no browser sends neither header."""
    site, origin = request.headers.get("Sec-Fetch-Site"), request.headers.get("Origin")
    if site is not None and site not in ("same-origin", "none"):
        return True
    if origin is None:
        return False
    try:
        return urlsplit(origin).netloc.lower() != request.host.lower()
    except ValueError:
        return True


def _content_policy(script_hashes: tuple[str, ...]) -> str:
    rules = {
        "default-src": "'none'",
        "script-src": " ".join(("'self'", *script_hashes)),
        "style-src": "'self' 'unsafe-inline'",  # Dash and Plotly set styles in place
        "img-src": "'self' data: blob:",
        "font-src": "'self'",
        "connect-src": "'self'",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())
