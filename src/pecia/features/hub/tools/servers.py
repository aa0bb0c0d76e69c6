"""Admin tools over upstream servers: add, check, approve, remove. Thin."""

from dataclasses import dataclass
from typing import Annotated

from pydantic import Field

from pecia.features.hub.hub import FEATURE, Hub
from pecia.features.hub.model import ServerEndpoint, UpstreamServer
from pecia.features.hub.registration import (
    SECRET_FIELD,
    TAKES_CHANGES_WARNING,
    ServerAddressInput,
    ServerConsent,
    ServerPolicyInput,
    ShortText,
    parse_endpoint,
    parse_options,
    replace_secrets,
    require_server_name,
)
from pecia.features.hub.tools.output import (
    ServerName,
    ServerOut,
    ServerToolsOut,
    ToolName,
    format_server,
    format_tool,
)
from pecia.kernel.errors import Conflict, Forbidden, PeciaError
from pecia.kernel.identity.caller import Scope
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.confirmation import escape_unprintable
from pecia.kernel.tool.model import AnyTool, Input, Output, Tool

GranteeName = Annotated[str, Field(min_length=1, max_length=2_048)]
Holder = Annotated[str, Field(max_length=64, pattern=r"^[A-Za-z0-9-]*$")]
HOLDER_DESCRIPTION = "The session that needs it. Removed a minute after the last heartbeat."
GRANTEES_DESCRIPTION = (
    "Who may call its tools: `everyone` of this tenant, `user:ana`, `group:staff`."
)


class AddServer(ServerAddressInput, ServerPolicyInput):
    server: ServerName
    to: list[GranteeName] = Field(
        default=["everyone"], max_length=100, description=GRANTEES_DESCRIPTION
    )
    holder: Holder = Field(default="", description=HOLDER_DESCRIPTION)


class HoldServers(Input):
    servers: list[ServerName] = Field(min_length=1, max_length=100)
    holder: Holder = Field(min_length=1, description=HOLDER_DESCRIPTION)
    release: bool = Field(default=False, description="The session is over.")


class HoldServersOut(Output):
    missing: list[str] = Field(description="Servers that do not exist: add them again.")


class SetServer(Input):
    server: ServerName
    enabled: bool | None = None
    to: list[GranteeName] | None = Field(
        default=None, max_length=100, description=GRANTEES_DESCRIPTION
    )
    env: dict[str, ShortText] | None = Field(
        default=None, description="Replaces the current ones.", json_schema_extra=SECRET_FIELD
    )
    headers: dict[str, ShortText] | None = Field(
        default=None, description="Replaces the current ones.", json_schema_extra=SECRET_FIELD
    )
    waiting: ServerPolicyInput | None = None


class ServerTarget(Input):
    server: ServerName


class ApproveTools(Input):
    server: ServerName
    tools: list[ToolName] = Field(
        default_factory=list[ToolName], max_length=1_000, description="Default: all that wait."
    )


class RemoveServerOut(Output):
    server: str


@dataclass(frozen=True, slots=True)
class ServerTools:
    """The handlers, for administrators."""

    hub: Hub
    consent: ServerConsent

    async def add_server(self, call: Call, ask: AddServer) -> ServerOut:
        """Add an upstream server: a program of this machine, or a URL. A person is asked first:
        where you cannot ask yours, the answer says how they confirm it."""
        await self.hub.sync_configured_servers(call.caller)
        await self.hub.registry.require_admin(call.caller)
        name, place, options = (
            require_server_name(ask.server),
            parse_endpoint(ask),
            parse_options(ask),
        )
        await self.hub.require_allowed_host(call.caller.tenant_id, place)
        await self.consent.confirm_server(call, name, place, options, ask.to)
        await self.hub.registry.add(call, name, place, options, ask.to, ask.holder)
        try:
            return await self._refresh_and_show(call, name, is_added=True)
        except Conflict:
            await self.hub.registry.remove(call, name)
            raise

    async def set_server(self, call: Call, ask: SetServer) -> ServerOut:
        """Switch a server on or off, say who may use it, or set its timeouts. Before it is
        switched on or off, is for others, gets other variables, or may change its tools, a person
        is asked."""
        await self.hub.sync_configured_servers(call.caller)
        server = await self.hub.registry.load_managed_server(call.caller, ask.server)
        place = await self._updated_endpoint(call, ask, server)
        await self._require_allowed_host(call, ask, server, place)
        if changes := _changes_to_confirm(ask, server, place):
            await self.consent.confirm_change(call, ask.server, changes, place)
        elif ask.enabled is False and server.enabled:
            await self.consent.confirm_loss(call, server, "Switch off")
        await self.hub.registry.set(
            call,
            ask.server,
            enabled=ask.enabled,
            readers=ask.to,
            options=parse_options(ask.waiting) if ask.waiting else None,
            place=place,
        )
        self.hub.pool.evict((call.caller.tenant_id, ask.server))
        return await self._show(call, ask.server)

    async def remove_server(self, call: Call, ask: ServerTarget) -> RemoveServerOut:
        """Remove a server, its tools and its credentials. A person is asked first: where you
        cannot ask yours, the answer says how they confirm it."""
        await self.hub.sync_configured_servers(call.caller)
        server = await self.hub.registry.load_managed_server(call.caller, ask.server)
        if server.origin == "caller":
            await self.consent.confirm_loss(call, server, "Remove")
        await self.hub.registry.remove(call, ask.server)
        self.hub.pool.evict((call.caller.tenant_id, ask.server))
        return RemoveServerOut(server=ask.server)

    async def hold_servers(self, call: Call, ask: HoldServers) -> HoldServersOut:
        """Renew or release a session's leases on servers that it brought."""
        missing = await self.hub.registry.renew_leases(
            call, ask.servers, ask.holder, release=ask.release
        )
        if ask.release:
            await self.hub.remove_expired_servers()
        return HoldServersOut(missing=missing)

    async def check_server(self, call: Call, ask: ServerTarget) -> ServerOut:
        """Connect to a server now, and record new and changed tools."""
        await self.hub.sync_configured_servers(call.caller)
        return await self._refresh_and_show(call, ask.server)

    async def approve_tools(self, call: Call, ask: ApproveTools) -> ServerToolsOut:
        """Approve new or changed tools as they are now. A person is asked first:
        where you cannot ask yours, the answer says how they confirm it."""
        await self.hub.sync_configured_servers(call.caller)
        waiting = await self.hub.registry.list_pending(call.caller, ask.server, ask.tools)
        if not waiting:
            return ServerToolsOut(tools=[])
        await self.consent.confirm_tools(call, ask.server, waiting)
        done = await self.hub.registry.approve(call, ask.server, waiting)
        return ServerToolsOut(tools=[format_tool(it) for it in done])

    async def _updated_endpoint(
        self, call: Call, ask: SetServer, server: UpstreamServer
    ) -> ServerEndpoint | None:
        """The endpoint of a server with its new credentials, if given."""
        if ask.env is None and ask.headers is None:
            return None
        if server.is_operator_managed:
            raise Forbidden(
                f"the credentials of {server.name} are in the operator's servers file",
                server=server.name,
                hint="The operator changes them there.",
            )
        place = (await self.hub.registry.load_endpoint(call.caller.tenant_id, ask.server)).endpoint
        env = place.env if ask.env is None else ask.env
        return replace_secrets(place, env, place.headers if ask.headers is None else ask.headers)

    async def _require_allowed_host(
        self, call: Call, ask: SetServer, server: UpstreamServer, place: ServerEndpoint | None
    ) -> None:
        """A server on a host its tenant may no longer reach can be switched off, nothing else."""
        is_used = ask.enabled or place is not None or ask.waiting is not None
        if is_used and server.address is not None and not server.is_operator_managed:
            await self.hub.require_allowed_host(
                call.caller.tenant_id, place or ServerEndpoint(server.address)
            )

    async def _refresh_and_show(
        self, call: Call, name: str, *, is_added: bool = False
    ) -> ServerOut:
        """The server after a refresh. One that is down is an answer, not an error."""
        server = await self.hub.registry.load_managed_server(call.caller, name)
        try:
            found = await self.hub.refresh_tools(call.caller.tenant_id, server, is_added=is_added)
        except Conflict:
            raise
        except PeciaError as error:
            return (await self._show(call, name)).model_copy(
                update={
                    "state": "down",
                    "reason": error.message,
                    "degraded": [_unusable(name, error.message, is_added=is_added)],
                }
            )
        return (await self._show(call, name)).model_copy(update={"refused": found.refused})

    async def _show(self, call: Call, name: str) -> ServerOut:
        server = await self.hub.registry.load_server(call.caller, name)
        tools = await self.hub.registry.list_tools(call.caller, name)
        return format_server(server, self.hub.connection_status(call.caller, name), tools)


def _unusable(name: str, reason: str, *, is_added: bool) -> str:
    """What to do about a server that is down."""
    stored = "is stored, but" if is_added else "is down:"
    return (
        f"{name!r} {stored} none of its tools can be called: {reason}. Once that is mended: "
        f"pecia hub check {name}; if its address is wrong: pecia hub remove {name}, then add it "
        "again"
    )


def _changes_to_confirm(
    ask: SetServer, server: UpstreamServer, place: ServerEndpoint | None
) -> list[str]:
    """The parts of a change that a person must confirm."""
    found: list[str] = []
    if ask.enabled and not server.enabled:
        found.append("It is switched on again.")
    if ask.to is not None and sorted(ask.to) != sorted(server.readers or ()):
        found.append(f"It is for: {escape_unprintable(', '.join(ask.to)) or 'nobody'}.")
    if place is not None and place.argv:
        # Environment variables can make a program do something else.
        found.append("Its program gets these variables.")
    if ask.waiting is not None and ask.waiting.take_changes and not server.options.takes_changes:
        found.append(TAKES_CHANGES_WARNING)
    return found


def server_admin_tools(hub: Hub, consent: ServerConsent) -> tuple[AnyTool, ...]:
    it = ServerTools(hub, consent)
    admin = Scope.ADMIN
    return (
        Tool(
            FEATURE,
            "add_server",
            admin,
            AddServer,
            ServerOut,
            it.add_server,
            read_only=False,
            open_world=True,
            timeout_s=300,
        ),
        Tool(FEATURE, "set_server", admin, SetServer, ServerOut, it.set_server, read_only=False),
        Tool(
            FEATURE,
            "remove_server",
            admin,
            ServerTarget,
            RemoveServerOut,
            it.remove_server,
            read_only=False,
            destructive=True,
        ),
        Tool(
            FEATURE,
            "check_server",
            admin,
            ServerTarget,
            ServerOut,
            it.check_server,
            read_only=False,
            open_world=True,
            timeout_s=300,
        ),
        Tool(
            FEATURE,
            "hold_servers",
            admin,
            HoldServers,
            HoldServersOut,
            it.hold_servers,
            read_only=False,
            idempotent=True,
        ),
        Tool(
            FEATURE,
            "approve_tools",
            admin,
            ApproveTools,
            ServerToolsOut,
            it.approve_tools,
            read_only=False,
        ),
    )
