"""User tools: list upstream servers and their tools, and call them. Thin."""

from typing import Any

from pydantic import Field, RootModel

from pecia.features.hub.call_timeout import MAX_CALL_S
from pecia.features.hub.dynamic_tools import UpstreamTools
from pecia.features.hub.hub import FEATURE, Hub
from pecia.features.hub.model import StoredTool
from pecia.features.hub.tools.output import (
    ServerName,
    ServersOut,
    ServerToolsOut,
    ToolName,
    format_server,
    format_tool,
)
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Tool, ToolResult
from pecia.kernel.tool.validate import validate_arguments


class ListServers(Input):
    pass


class ListServerTools(Input):
    server: ServerName | None = Field(default=None, description="All servers unless given.")
    query: str = Field(default="", max_length=200, description="Words in a name or description.")
    limit: int = Field(default=50, ge=1, le=500)
    cursor: str = Field(default="", max_length=200, description="From `next_cursor`.")


class CallServerTool(Input):
    server: ServerName
    tool: ToolName
    arguments: dict[str, Any] = Field(
        default_factory=dict[str, Any],
        # Which arguments are secret is unknown here.
        json_schema_extra={"unaudited": True},
    )


class UpstreamResultOut(RootModel[Any]):
    """The result of an upstream tool: its schema is unknown here."""


def server_user_tools(hub: Hub, upstream_tools: UpstreamTools) -> tuple[AnyTool, ...]:
    """The tools for every member."""

    async def list_servers(call: Call, ask: ListServers) -> ServersOut:
        """The upstream servers that you may use, and their status."""
        await hub.sync_configured_servers(call.caller)
        found = await hub.registry.list_servers(call.caller)
        kept = await hub.registry.list_tools(call.caller)
        return ServersOut(
            servers=[
                format_server(it, hub.connection_status(call.caller, it.name), kept) for it in found
            ]
        )

    async def list_server_tools(call: Call, ask: ListServerTools) -> ServerToolsOut:
        """The tools of upstream servers, with their argument schemas."""
        await hub.sync_configured_servers(call.caller)
        kept = await hub.registry.list_tools(call.caller, ask.server)
        if ask.server is not None and not kept:
            await hub.registry.load_server(call.caller, ask.server)
        found = [it for it in kept if _matches(it, ask.query) and _cursor(it) > ask.cursor]
        page = sorted(found, key=_cursor)[: ask.limit]
        more = len(found) > ask.limit
        return ServerToolsOut(
            tools=[format_tool(it) for it in page], next_cursor=_cursor(page[-1]) if more else None
        )

    async def call_server_tool(call: Call, ask: CallServerTool) -> ToolResult:
        """Call a tool of an upstream server. The answer is that server's, not verified by us."""

        def check(kept: StoredTool) -> None:
            validate_arguments(
                upstream_tools.intern_tool(call.caller.tenant_id, kept), ask.arguments
            )

        return await hub.call(call, ask.server, ask.tool, ask.arguments, check)

    return (
        Tool(FEATURE, "list_servers", Scope.READ, ListServers, ServersOut, list_servers),
        Tool(
            FEATURE,
            "list_server_tools",
            Scope.READ,
            ListServerTools,
            ServerToolsOut,
            list_server_tools,
        ),
        Tool(
            FEATURE,
            "call_server_tool",
            Scope.READ,
            CallServerTool,
            UpstreamResultOut,
            call_server_tool,
            read_only=False,
            destructive=True,
            open_world=True,
            timeout_s=MAX_CALL_S,
        ),
    )


def _matches(tool: StoredTool, query: str) -> bool:
    text = f"{tool.server} {tool.name} {tool.effective.description}".lower()
    return all(word in text for word in query.lower().split())


def _cursor(tool: StoredTool) -> str:
    return f"{tool.server}/{tool.name}"
