"""Which paths there are, and what each one serves. Only data: nothing is opened here."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pecia import __version__

DESK, ALL, CIPHER = "desk", "all", "cipher"

# As their references have it: these endpoints answer POST alone.
POST_ONLY = frozenset(("lake", "ckf"))

# Clients of a reference look for the name of its server.
NAMES = {
    "ckf": ("ckf-mcp-server", "0.2.0"),
    "wiki": ("open-knowledge", __version__),
    CIPHER: ("cipher", "1.0.0"),
}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One path, and what a client finds there."""

    path: str
    shows: str
    """The front desk, everything, the toolset `cipher`, or a room by its name."""
    read_only: bool = False

    @property
    def streams(self) -> bool:
        """Whether a GET opens a stream, and a handshake a session."""
        return self.shows not in POST_ONLY

    @property
    def server_name(self) -> str:
        return NAMES.get(self.shows, ("pecia", ""))[0]

    @property
    def server_version(self) -> str:
        return NAMES.get(self.shows, ("", __version__))[1]


def endpoints(rooms: Iterable[str], root: str) -> list[Endpoint]:
    """Every path of Streamable HTTP. `root` says what the shortest one serves."""
    shown = [DESK, ALL, CIPHER, *rooms]
    found = [Endpoint("/mcp", root), *(Endpoint(f"/mcp/{it}", it) for it in shown)]
    if "ckf" in shown:
        found.append(Endpoint("/api/mcp", "ckf"))
    return [*found, *_read_only(found)]


def sse_endpoints(rooms: Iterable[str], root: str) -> list[Endpoint]:
    """Every path of the older transport. Each has a second one, for messages."""
    shown = (DESK, ALL, CIPHER, *rooms)
    return [Endpoint("/sse", root), *(Endpoint(f"/sse/{it}", it) for it in shown)]


def messages_path(endpoint: Endpoint) -> str:
    """Where a client of the older transport posts to."""
    return endpoint.path.replace("/sse", "/messages", 1)


def _read_only(found: Iterable[Endpoint]) -> Iterator[Endpoint]:
    for it in found:
        yield replace(it, path=f"{it.path}/readonly", read_only=True)
