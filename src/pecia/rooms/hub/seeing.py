"""The tools for who uses servers of others: which there are, what they can do, and do it. Thin."""

from typing import Any

from pydantic import Field, RootModel

from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Result, Tool
from pecia.kernel.tool.validate import validated
from pecia.rooms.hub.clock import LONGEST_S
from pecia.rooms.hub.guests import Guests
from pecia.rooms.hub.hub import ROOM, Hub
from pecia.rooms.hub.model import Kept
from pecia.rooms.hub.shapes import (
    ServerName,
    ServersOut,
    ToolName,
    ToolsOut,
    server_out,
    tool_out,
)


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
        # Which of them are secret, nobody here can tell.
        json_schema_extra={"unaudited": True},
    )


class Whatever(RootModel[Any]):
    """What a tool of theirs gives: no schema of ours could say."""


def seeing_tools(hub: Hub, guests: Guests) -> tuple[AnyTool, ...]:
    """What every member may do."""

    async def list_servers(call: Call, ask: ListServers) -> ServersOut:
        """The servers of others that you may use here, and how each of them is."""
        await hub.ready(call.caller)
        found = await hub.registry.servers(call.caller)
        kept = await hub.registry.tools(call.caller)
        return ServersOut(
            servers=[server_out(it, hub.condition(call.caller, it.name), kept) for it in found]
        )

    async def list_server_tools(call: Call, ask: ListServerTools) -> ToolsOut:
        """The tools of servers of others, with the schema of their arguments."""
        await hub.ready(call.caller)
        kept = await hub.registry.tools(call.caller, ask.server)
        if ask.server is not None and not kept:
            await hub.registry.server(call.caller, ask.server)
        found = [it for it in kept if _fits(it, ask.query) and _place(it) > ask.cursor]
        page = sorted(found, key=_place)[: ask.limit]
        more = len(found) > ask.limit
        return ToolsOut(
            tools=[tool_out(it) for it in page], next_cursor=_place(page[-1]) if more else None
        )

    async def call_server_tool(call: Call, ask: CallServerTool) -> Result:
        """Call a tool of a server of others. What it answers is that server's word, not ours."""

        def check(kept: Kept) -> None:
            validated(guests.tool(call.caller.tenant_id, kept), ask.arguments)

        return await hub.call(call, ask.server, ask.tool, ask.arguments, check)

    return (
        Tool(ROOM, "list_servers", Scope.READ, ListServers, ServersOut, list_servers),
        Tool(ROOM, "list_server_tools", Scope.READ, ListServerTools, ToolsOut, list_server_tools),
        Tool(
            ROOM,
            "call_server_tool",
            Scope.READ,
            CallServerTool,
            Whatever,
            call_server_tool,
            read_only=False,
            destructive=True,
            open_world=True,
            timeout_s=LONGEST_S,
        ),
    )


def _fits(tool: Kept, query: str) -> bool:
    text = f"{tool.server} {tool.name} {tool.shown.description}".lower()
    return all(word in text for word in query.lower().split())


def _place(tool: Kept) -> str:
    return f"{tool.server}/{tool.name}"
