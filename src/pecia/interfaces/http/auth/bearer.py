"""Where a request may have its token: the Authorization header, or a websocket's subprotocols."""

import re

from starlette.requests import HTTPConnection

from pecia.kernel.errors import AuthRequired

SUBPROTOCOL_PREFIX = "bearer."
"""Browsers cannot set headers on a websocket, and a token must not be in a URL."""

_BEARER = re.compile(r"(?i:bearer) +([A-Za-z0-9._~+/-]+=*)")


def bearer_token(connection: HTTPConnection) -> str | None:
    """The token of the request, None without one; AuthRequired when it is not a bearer token."""
    header = raw_authorization(connection)
    if header is None:
        return None
    found = _BEARER.fullmatch(header)
    if found is None:
        raise AuthRequired("the Authorization header is not `Bearer` and a token")
    return found[1]


def raw_authorization(connection: HTTPConnection) -> str | None:
    """The Authorization value as sent, not validated."""
    header = connection.headers.get("authorization")
    if header is None and connection.scope["type"] == "websocket":
        offered: list[str] = connection.scope.get("subprotocols", [])
        tokens = (it for it in offered if it.startswith(SUBPROTOCOL_PREFIX))
        return next((f"Bearer {it.removeprefix(SUBPROTOCOL_PREFIX)}" for it in tokens), None)
    return header
