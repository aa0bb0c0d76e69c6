"""Where a request may carry its token: the Authorization header, or a websocket's subprotocols."""

import re

from starlette.requests import HTTPConnection

from pecia.kernel.errors import AuthRequired

SUBPROTOCOL_PREFIX = "bearer."
"""Browsers give a page no way to set headers on a websocket, and a URL is no place for a token."""

_BEARER = re.compile(r"(?i:bearer) +([A-Za-z0-9._~+/-]+=*)")


def bearer_token(connection: HTTPConnection) -> str | None:
    """The token of the request, None when it brings none; AuthRequired when it is no bearer."""
    given = raw_authorization(connection)
    if given is None:
        return None
    found = _BEARER.fullmatch(given)
    if found is None:
        raise AuthRequired("the Authorization header is not `Bearer` and a token")
    return found[1]


def raw_authorization(connection: HTTPConnection) -> str | None:
    """What the client says it is allowed by, good or not."""
    given = connection.headers.get("authorization")
    if given is None and connection.scope["type"] == "websocket":
        offered: list[str] = connection.scope.get("subprotocols", [])
        tokens = (it for it in offered if it.startswith(SUBPROTOCOL_PREFIX))
        return next((f"Bearer {it.removeprefix(SUBPROTOCOL_PREFIX)}" for it in tokens), None)
    return given
