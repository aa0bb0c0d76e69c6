"""The MCP paths, and what each one serves. Data only: nothing is opened here."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

from pecia import __version__
from pecia.kernel.tool.former_names import former_toolsets

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
    found = [McpEndpoint("/mcp", root), *_by_toolset("/mcp", features)]
    if any(it.toolset == "ckf" for it in found[1:]):
        found.append(McpEndpoint("/api/mcp", "ckf"))
    return [*found, *_read_only(found)]


def list_sse_endpoints(features: Iterable[str], root: str) -> list[McpEndpoint]:
    """Every path of the SSE transport. Each has a second one, for messages."""
    return [McpEndpoint("/sse", root), *_by_toolset("/sse", features)]


def messages_path(endpoint: McpEndpoint) -> str:
    """Where a client of the SSE transport posts to."""
    return endpoint.path.replace("/sse", "/messages", 1)


def _by_toolset(prefix: str, toolsets: Iterable[str]) -> Iterator[McpEndpoint]:
    """One path for each name of a toolset, the former ones too."""
    for it in (DISCOVERY, ALL, CIPHER, *toolsets):
        yield from (McpEndpoint(f"{prefix}/{name}", it) for name in (it, *former_toolsets(it)))


def _read_only(found: Iterable[McpEndpoint]) -> Iterator[McpEndpoint]:
    for it in found:
        yield replace(it, path=f"{it.path}/readonly", read_only=True)
