"""What the edge middleware knows of a request before authentication. Decides nothing."""

from dataclasses import dataclass
from typing import cast

from starlette.types import Scope

from pecia.adapters.http.peer_credentials import PeerProcess
from pecia.kernel.logs import RequestRecord

SCOPE_KEY = "pecia.arrival"


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
