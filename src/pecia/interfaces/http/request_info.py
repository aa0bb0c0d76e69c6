"""What the front learned of a request before anybody asked who sent it. Decides nothing."""

from dataclasses import dataclass
from typing import cast

from starlette.types import Scope

from pecia.adapters.http.peer_credentials import PeerProcess
from pecia.kernel.logs import RequestRecord

SCOPE_KEY = "pecia.arrival"


@dataclass(frozen=True, slots=True)
class RequestInfo:
    """One request: from where, under which name of ours, and the line the log will hold."""

    request_id: str
    client_ip: str | None
    is_local: bool
    """From this machine, and forwarded by nobody. By whom is another question: see `peer`."""
    base_url: str
    """Where the client reaches us, without a last slash."""
    resource: str
    """The path of the protected endpoint asked for, empty for the server as a whole."""
    log_line: RequestRecord
    peer: PeerProcess | None = None
    """The process that sent it, where it came over a connection of ours."""

    @property
    def is_of_same_user(self) -> bool:
        """From a process of the user that this server runs as, and forwarded by nobody."""
        return self.is_local and self.peer is not None and self.peer.is_same_user


def get_request_info(scope: Scope) -> RequestInfo:
    """The arrival that the front put into every scope it let in."""
    return cast(RequestInfo, scope[SCOPE_KEY])
