"""The session cookie: one sign-in for every tab of a browser.

It holds the token that the person signed in with, out of reach of scripts, and ends with it.
A cookie is sent by the browser, not by the page, so it counts only where no page of another site
can have caused the request: with our own header, which such a page cannot set; on a websocket of
our own origin; or on a page that is only read.
"""

from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import Response

CSRF_HEADER = "x-pecia-console"
MAX_AGE_S = 12 * 3600
MAX_TOKEN_CHARS = 3_500
"""Browsers keep cookies of at most 4,096 bytes."""
READ_PATHS = ("/read/",)


def session_token(connection: HTTPConnection, base_url: str) -> str | None:
    """The token in the cookie; None without one, or where a foreign page may have caused this."""
    token = connection.cookies.get(cookie_name(base_url))
    return token if token and _is_from_us(connection, base_url) else None


def has_session(connection: HTTPConnection, base_url: str) -> bool:
    return bool(connection.cookies.get(cookie_name(base_url)))


def cookie_name(base_url: str) -> str:
    """With TLS bound to this host. Without, a cookie is of all ports: the name has ours."""
    parts = urlsplit(base_url)
    if parts.scheme == "https":
        return "__Host-pecia_session"
    return f"pecia_session_{parts.port or 80}"


def set_session(response: Response, base_url: str, token: str) -> None:
    response.set_cookie(
        cookie_name(base_url),
        token,
        max_age=MAX_AGE_S,
        path="/",
        secure=base_url.startswith("https:"),
        httponly=True,
        samesite="strict",
    )


def clear_session(response: Response, base_url: str) -> None:
    response.delete_cookie(
        cookie_name(base_url),
        path="/",
        secure=base_url.startswith("https:"),
        httponly=True,
        samesite="strict",
    )


def _is_from_us(connection: HTTPConnection, base_url: str) -> bool:
    if connection.scope["type"] == "websocket":
        return _is_same_origin(connection, base_url)
    if connection.headers.get(CSRF_HEADER) is not None:
        # The edge refused foreign origins; a request that has none is not a page's.
        return True
    method, path = connection.scope.get("method"), connection.scope["path"]
    return method in ("GET", "HEAD") and path.startswith(READ_PATHS)


def _is_same_origin(connection: HTTPConnection, base_url: str) -> bool:
    origin = connection.headers.get("origin", "").lower()
    scheme = urlsplit(base_url).scheme
    own = {base_url.lower(), f"{scheme}://{connection.headers.get('host', '')}".lower()}
    return origin in own
