"""Servers and their tools as callers see them. Pure."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal

from pydantic import Field

from pecia.features.hub.connection_pool import ConnectionStatus
from pecia.features.hub.core.tool_name import prefix_name
from pecia.features.hub.model import StoredTool, ToolState, UpstreamServer
from pecia.kernel.tool.model import Output

ServerName = Annotated[str, Field(min_length=1, max_length=40)]
ToolName = Annotated[str, Field(min_length=1, max_length=128)]


class ServerOut(Output):
    server: str
    state: Literal["up", "down", "idle", "off"] = Field(
        description="`idle`: not used yet. `off`: switched off."
    )
    reason: str = Field(default="", description="Why it is down.")
    since: str | None = None
    software: str = Field(default="", description="Name and version it reports.")
    revision: str = Field(default="", description="The negotiated MCP revision.")
    tools: int = Field(description="Tools that can be called.")
    waiting: int = Field(description="New or changed tools that wait for approval.")
    transport: str | None = Field(default=None, description="For administrators, as what follows.")
    command: list[str] | None = None
    url: str | None = None
    secrets: list[str] | None = Field(
        default=None, description="The names of its variables or headers. Values are never shown."
    )
    to: list[str] | None = Field(default=None, description="Who may call its tools.")
    refused: dict[str, str] = Field(
        default_factory=dict[str, str], description="Unusable tools, and why."
    )
    degraded: list[str] = Field(
        default_factory=list[str], description="What does not work yet, and the next command."
    )


class ServersOut(Output):
    servers: list[ServerOut]


class ServerToolOut(Output):
    server: str
    tool: str
    name: str = Field(description="Its name here.")
    state: ToolState
    description: str
    input_schema: dict[str, Any]
    read_only: bool
    notes: list[str]
    offered_description: str | None = Field(
        default=None, description="The current description, where it differs from the approved one."
    )


class ServerToolsOut(Output):
    tools: list[ServerToolOut]
    next_cursor: str | None = None


def format_server(
    server: UpstreamServer,
    condition: ConnectionStatus,
    tools: Sequence[StoredTool],
    refused: Mapping[str, str] | None = None,
) -> ServerOut:
    """A server with its status. `tools` are those of every server."""
    mine = [it for it in tools if it.server == server.name]
    where = server.address
    since = condition.since
    return ServerOut(
        server=server.name,
        state=condition.state if server.enabled else "off",
        reason=condition.reason,
        since=since.isoformat(timespec="seconds") if since else None,
        software=condition.software,
        revision=condition.revision,
        tools=sum(it.state == "approved" for it in mine),
        waiting=sum(it.state in ("new", "changed") for it in mine),
        transport=where.transport if where else None,
        command=[*where.argv] if where and where.argv else None,
        url=where.url if where and where.url else None,
        secrets=[*where.secrets] if where else None,
        to=[*server.readers] if server.readers is not None else None,
        refused=dict(refused or {}),
    )


def format_tool(it: StoredTool) -> ServerToolOut:
    definition = it.effective
    return ServerToolOut(
        server=it.server,
        tool=it.name,
        name=it.exposed or prefix_name(it.server, it.name),
        state=it.state,
        description=definition.description,
        input_schema=dict(definition.input_schema),
        read_only=definition.read_only,
        notes=[*definition.notes],
        offered_description=it.offered.description if it.approved and it.offered else None,
    )
