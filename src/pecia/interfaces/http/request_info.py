"""What is known of a request before authentication: where it came from, and the token it has.

A token is in the Authorization header, in the subprotocols of a websocket, or in the session
cookie of a browser.
"""

import re
from dataclasses import dataclass
from typing import cast

from starlette.requests import HTTPConnection
from starlette.types import Scope

from pecia.adapters.http.peer_credentials import PeerProcess
from pecia.interfaces.http.auth.session_cookie import session_token
from pecia.kernel.errors import AuthRequired
from pecia.kernel.logs import RequestRecord

SCOPE_KEY = "pecia.arrival"

PEER_KEY = "pecia.peer"
"""Where the `state` of a scope has the Peer of its connection, websockets included."""

SUBPROTOCOL_PREFIX = "bearer."
"""Browsers cannot set headers on a websocket, and a token must not be in a URL."""

_BEARER = re.compile(r"(?i:bearer) +([A-Za-z0-9._~+/-]+=*)")


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """One request: where it came from, under which public URL, and its log line."""

    request_id: str
    client_ip: str | None
    is_local: bool
    """From this machine and not forwarded. For the user that sent it, see `peer`."""
    base_url: str
    """The base URL that the client uses, without a trailing slash."""
    resource: str
    """The path of the requested protected endpoint, empty for the server as a whole."""
    log_line: RequestRecord
    peer: PeerProcess | None = None
    """The process that sent it, where the peer of the connection is known."""

    @property
    def is_of_same_user(self) -> bool:
        """From a process of the user that this server runs as, and not forwarded."""
        return self.is_local and self.peer is not None and self.peer.is_same_user


def get_request_info(scope: Scope) -> RequestInfo:
    """The request info that the edge middleware put into the scope."""
    return cast(RequestInfo, scope[SCOPE_KEY])


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
    if header is not None:
        return header
    offered: list[str] = connection.scope.get("subprotocols") or []
    tokens = (it for it in offered if it.startswith(SUBPROTOCOL_PREFIX))
    if token := next(tokens, None):
        return f"Bearer {token.removeprefix(SUBPROTOCOL_PREFIX)}"
    cookie = session_token(connection, get_request_info(connection.scope).base_url)
    return None if cookie is None else f"Bearer {cookie}"
