"""The MCP paths, and what each one serves. Data only: nothing is opened here."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pecia import __version__

DISCOVERY, ALL, CIPHER = "desk", "all", "cipher"

# As their references have it: these endpoints answer POST alone.
POST_ONLY = frozenset(("lake", "ckf"))

# Clients of a reference check for the name of its server.
SERVER_NAMES = {
    "ckf": ("ckf-mcp-server", "0.2.0"),
    "wiki": ("open-knowledge", __version__),
    CIPHER: ("cipher", "1.0.0"),
}


@dataclass(frozen=True, slots=True)
class McpEndpoint:
    """One path, and what it serves."""

    path: str
    toolset: str
    """The discovery toolset, all tools, the toolset `cipher`, or a feature by its name."""
    read_only: bool = False

    @property
    def streams(self) -> bool:
        """Whether a GET opens a stream, and a handshake a session."""
        return self.toolset not in POST_ONLY

    @property
    def server_name(self) -> str:
        return SERVER_NAMES.get(self.toolset, ("pecia", ""))[0]

    @property
    def server_version(self) -> str:
        return SERVER_NAMES.get(self.toolset, ("", __version__))[1]


def list_endpoints(features: Iterable[str], root: str) -> list[McpEndpoint]:
    """Every path of Streamable HTTP. `root` is the toolset of the shortest one."""
    shown = [DISCOVERY, ALL, CIPHER, *features]
    found = [McpEndpoint("/mcp", root), *(McpEndpoint(f"/mcp/{it}", it) for it in shown)]
    if "ckf" in shown:
        found.append(McpEndpoint("/api/mcp", "ckf"))
    return [*found, *_read_only(found)]


def list_sse_endpoints(features: Iterable[str], root: str) -> list[McpEndpoint]:
    """Every path of the SSE transport. Each has a second one, for messages."""
    shown = (DISCOVERY, ALL, CIPHER, *features)
    return [McpEndpoint("/sse", root), *(McpEndpoint(f"/sse/{it}", it) for it in shown)]


def messages_path(endpoint: McpEndpoint) -> str:
    """Where a client of the SSE transport posts to."""
    return endpoint.path.replace("/sse", "/messages", 1)


def _read_only(found: Iterable[McpEndpoint]) -> Iterator[McpEndpoint]:
    for it in found:
        yield replace(it, path=f"{it.path}/readonly", read_only=True)
