"""The tools for who keeps servers of others: adding, checking, approving, removing. Thin."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from pecia.kernel.errors import Conflict, Forbidden, PeciaError
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool
from pecia.rooms.hub.adding import (
    SECRET,
    TAKES,
    Consent,
    Somewhere,
    Waiting,
    Word,
    checked_name,
    options_of,
    place_of,
    with_secrets,
)
from pecia.rooms.hub.hub import ROOM, Hub
from pecia.rooms.hub.model import Place, Server
from pecia.rooms.hub.shapes import (
    ServerName,
    ServerOut,
    ToolName,
    ToolsOut,
    server_out,
    tool_out,
)

Reader = Annotated[str, Field(min_length=1, max_length=2_048)]
Holder = Annotated[str, Field(max_length=64, pattern=r"^[A-Za-z0-9-]*$")]
HOLDER = "The session that needs it. It goes a minute after the last one that said so."
WHO = "Who may call its tools: `everyone` of this tenant, `user:ana`, `group:staff`."


class AddServer(Somewhere, Waiting):
    server: ServerName
    to: list[Reader] = Field(default=["everyone"], max_length=100, description=WHO)
    holder: Holder = Field(default="", description=HOLDER)


class HoldServers(Input):
    servers: list[ServerName] = Field(min_length=1, max_length=100)
    holder: Holder = Field(min_length=1, description=HOLDER)
    release: bool = Field(default=False, description="The session is over.")


class Held(Output):
    missing: list[str] = Field(description="Those that are not there: add them again.")


class SetServer(Input):
    server: ServerName
    enabled: bool | None = None
    to: list[Reader] | None = Field(default=None, max_length=100, description=WHO)
    env: dict[str, Word] | None = Field(
        default=None, description="In place of those it has.", json_schema_extra=SECRET
    )
    headers: dict[str, Word] | None = Field(
        default=None, description="In place of those it has.", json_schema_extra=SECRET
    )
    waiting: Waiting | None = None


class OneServer(Input):
    server: ServerName


class ApproveTools(Input):
    server: ServerName
    tools: list[ToolName] = Field(
        default_factory=list[ToolName], max_length=1_000, description="All that wait unless given."
    )


class Removed(Output):
    server: str


@dataclass(frozen=True, slots=True)
class Keeping:
    """The handlers, for administrators."""

    hub: Hub
    consent: Consent

    async def add_server(self, call: Call, ask: AddServer) -> ServerOut:
        """Connect a server of others: a program of this machine, or an endpoint by its URL. A
        person is asked first: where you cannot ask yours, the answer says how they confirm it."""
        await self.hub.ready(call.caller)
        await self.hub.registry.require_keeper(call.caller)
        name, place, options = checked_name(ask.server), place_of(ask), options_of(ask)
        await self.hub.require_reach(call.caller.tenant_id, place)
        await self.consent.to_server(call, name, place, options, ask.to)
        await self.hub.registry.add(call, name, place, options, ask.to, ask.holder)
        try:
            return await self._looked(call, name)
        except Conflict:
            await self.hub.registry.remove(call, name)
            raise

    async def set_server(self, call: Call, ask: SetServer) -> ServerOut:
        """Switch a server on or off, say who may use it, or how long it is waited for. Before it
        is switched on, gets other variables, or may change its tools, a person is asked."""
        await self.hub.ready(call.caller)
        server = await self.hub.registry.governed(call.caller, ask.server)
        place = await self._let_in(call, ask, server)
        await self._require_reach(call, ask, server, place)
        if changes := _risks(ask, server, place):
            await self.consent.to_change(call, ask.server, changes, place)
        await self.hub.registry.set(
            call,
            ask.server,
            enabled=ask.enabled,
            readers=ask.to,
            options=options_of(ask.waiting) if ask.waiting else None,
            place=place,
        )
        self.hub.board.forget((call.caller.tenant_id, ask.server))
        return await self._shown(call, ask.server)

    async def remove_server(self, call: Call, ask: OneServer) -> Removed:
        """Forget a server, its tools and what let us in."""
        await self.hub.ready(call.caller)
        await self.hub.registry.remove(call, ask.server)
        self.hub.board.forget((call.caller.tenant_id, ask.server))
        return Removed(server=ask.server)

    async def hold_servers(self, call: Call, ask: HoldServers) -> Held:
        """Say that a session still needs servers that it brought, or no longer does."""
        missing = await self.hub.registry.hold(call, ask.servers, ask.holder, release=ask.release)
        if ask.release:
            await self.hub.forget_unheld()
        return Held(missing=missing)

    async def check_server(self, call: Call, ask: OneServer) -> ServerOut:
        """Connect to a server now, and note what it offers that it did not before."""
        await self.hub.ready(call.caller)
        return await self._looked(call, ask.server)

    async def approve_tools(self, call: Call, ask: ApproveTools) -> ToolsOut:
        """Let tools that are new or changed be called as they are now. A person is asked first:
        where you cannot ask yours, the answer says how they confirm it."""
        await self.hub.ready(call.caller)
        waiting = await self.hub.registry.waiting(call.caller, ask.server, ask.tools)
        if not waiting:
            return ToolsOut(tools=[])
        await self.consent.to_tools(call, ask.server, waiting)
        done = await self.hub.registry.approve(call, ask.server, waiting)
        return ToolsOut(tools=[tool_out(it) for it in done])

    async def _let_in(self, call: Call, ask: SetServer, server: Server) -> Place | None:
        """The place of a server with what lets us in from now on, where that is given."""
        if ask.env is None and ask.headers is None:
            return None
        if server.is_operators:
            raise Forbidden("what lets us into this server stands in a file of the operator")
        place = (await self.hub.registry.place(call.caller.tenant_id, ask.server)).place
        env = place.env if ask.env is None else ask.env
        return with_secrets(place, env, place.headers if ask.headers is None else ask.headers)

    async def _require_reach(
        self, call: Call, ask: SetServer, server: Server, place: Place | None
    ) -> None:
        """A server that its tenant may not reach any more can be switched off, and no more."""
        is_used = ask.enabled or place is not None or ask.waiting is not None
        if is_used and server.where is not None and not server.is_operators:
            await self.hub.require_reach(call.caller.tenant_id, place or Place(server.where))

    async def _looked(self, call: Call, name: str) -> ServerOut:
        """The server after a look at it. One that is down is an answer, not a failure."""
        server = await self.hub.registry.governed(call.caller, name)
        try:
            found = await self.hub.look(call.caller.tenant_id, server)
        except Conflict:
            raise
        except PeciaError as error:
            return (await self._shown(call, name)).model_copy(
                update={"state": "down", "reason": error.message}
            )
        return (await self._shown(call, name)).model_copy(update={"refused": found.refused})

    async def _shown(self, call: Call, name: str) -> ServerOut:
        server = await self.hub.registry.server(call.caller, name)
        tools = await self.hub.registry.tools(call.caller, name)
        return server_out(server, self.hub.condition(call.caller, name), tools)


def _risks(ask: SetServer, server: Server, place: Place | None) -> list[str]:
    """What of a change needs a person's yes."""
    found: list[str] = []
    if ask.enabled and not server.enabled:
        found.append("It is switched on again.")
    if place is not None and place.argv:
        # Variables can make a program do something else altogether.
        found.append("Its program gets these variables.")
    if ask.waiting is not None and ask.waiting.take_changes and not server.options.takes_changes:
        found.append(TAKES)
    return found


def keeping_tools(it: Keeping) -> tuple[AnyTool, ...]:
    admin = Scope.ADMIN
    return (
        Tool(
            ROOM,
            "add_server",
            admin,
            AddServer,
            ServerOut,
            it.add_server,
            read_only=False,
            open_world=True,
            timeout_s=300,
        ),
        Tool(ROOM, "set_server", admin, SetServer, ServerOut, it.set_server, read_only=False),
        Tool(
            ROOM,
            "remove_server",
            admin,
            OneServer,
            Removed,
            it.remove_server,
            read_only=False,
            destructive=True,
        ),
        Tool(
            ROOM,
            "check_server",
            admin,
            OneServer,
            ServerOut,
            it.check_server,
            read_only=False,
            open_world=True,
            timeout_s=300,
        ),
        Tool(
            ROOM,
            "hold_servers",
            admin,
            HoldServers,
            Held,
            it.hold_servers,
            read_only=False,
            idempotent=True,
        ),
        Tool(
            ROOM, "approve_tools", admin, ApproveTools, ToolsOut, it.approve_tools, read_only=False
        ),
    )
