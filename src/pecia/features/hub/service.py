"""The hub's verbs: look at a server, call a tool of it. What a server says is data and no order."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import TypeAlias
from uuid import UUID

import anyio

from pecia.features.hub.call_timeout import MAX_CALL_S, CallTimeout
from pecia.features.hub.configured_servers import ServersFile
from pecia.features.hub.connection_pool import ConnectionPool, ConnectionRequest, ConnectionStatus
from pecia.features.hub.core.catalog import UpstreamCatalog, parse_catalog
from pecia.features.hub.core.result import to_result
from pecia.features.hub.core.tool_name import prefix_name
from pecia.features.hub.model import ServerEndpoint, ServerOptions, StoredTool, UpstreamServer
from pecia.features.hub.ports import UpstreamConnection, UpstreamNetwork
from pecia.features.hub.refresh_throttle import RefreshThrottle
from pecia.features.hub.settings import timeout_in
from pecia.features.hub.store import ServerRegistry
from pecia.kernel.errors import (
    Forbidden,
    Json,
    NotFound,
    PeciaError,
    Timeout,
    Unprocessable,
    UpstreamError,
)
from pecia.kernel.identity.caller import Caller, Scope
from pecia.kernel.logs import Log
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import ForeignTool, ToolResult
from pecia.kernel.tool.suggestion import suggest_name

RunTool: TypeAlias = Callable[[Call, Mapping[str, Json]], Awaitable[ToolResult]]

FEATURE = "hub"
LIST_TOOLS_TIMEOUT_S = 60.0
CLEANUP_INTERVAL_S = 10.0
MAY_BE_DONE_HINT = "It may have been done, in part or whole: look before you ask for it again."

_log = Log(__name__)


class UpstreamGone(UpstreamError):
    """The server died over a question. Whether it did what was asked, nobody knows."""


class UpstreamRefusal(UpstreamError):
    """The server said no to a question that it got. It may have done a part of what was asked."""


@dataclass(frozen=True, slots=True)
class HubLimits:
    """How long a server is waited for, and how large an answer is taken."""

    timeout_s: float
    answer_bytes: int


@dataclass(frozen=True, slots=True)
class Hub:
    """Everything that can be done with servers of others."""

    registry: ServerRegistry
    pool: ConnectionPool
    network: UpstreamNetwork
    limits: HubLimits
    servers_file: ServersFile | None = None
    refresh_throttle: RefreshThrottle = field(default_factory=RefreshThrottle)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """While it is entered, conversations stay open. A file that is wrong is said at once."""
        if self.servers_file is not None:
            await self.servers_file.read()
        async with self.pool.running():
            self.pool.start_soon(self._cleanup_loop)
            yield

    async def remove_expired_servers(self) -> None:
        """Servers of sessions that are over go, and their programs with them."""
        for key in await self.registry.remove_expired():
            self.pool.evict(key)

    async def _cleanup_loop(self) -> None:
        """Sessions may end without a word: their clients are killed, or this server was."""
        while True:
            try:
                await self.remove_expired_servers()
            except PeciaError as error:
                _log.failure("hub.sweep", error)
            await anyio.sleep(CLEANUP_INTERVAL_S)

    async def sync_configured_servers(self, caller: Caller) -> None:
        """What the operator's file has for this caller's tenant is there from now on."""
        if self.servers_file is not None:
            await self.servers_file.sync_tenant(caller)

    def connection_status(self, caller: Caller, server: str) -> ConnectionStatus:
        return self.pool.status((caller.tenant_id, server))

    async def require_allowed_host(self, tenant_id: UUID, place: ServerEndpoint) -> None:
        """Refuse a place inside the operator's network that this tenant was not given."""
        hosts = await self.network.hosts(tenant_id, is_operators=False)
        await self.network.check(replace(place, hosts=hosts))

    async def refresh_tools(self, tenant_id: UUID, server: UpstreamServer) -> UpstreamCatalog:
        """Ask a server for its tools, and write down what is not as it was."""
        wanted = await self._connection_request(tenant_id, server)
        with anyio.move_on_after(LIST_TOOLS_TIMEOUT_S):
            async with self.pool.acquire(wanted) as connected:
                found = await self._record_catalog(wanted, server.options, connected.connection)
            self.pool.reset_failures(wanted.key)
            return found
        raise Timeout(
            f"{server.name} did not list its tools in {LIST_TOOLS_TIMEOUT_S:g} s",
            timeout_s=LIST_TOOLS_TIMEOUT_S,
        )

    async def call(
        self,
        call: Call,
        server: str,
        tool: str,
        arguments: Mapping[str, Json],
        check: Callable[[StoredTool], None] = lambda kept: None,
    ) -> ToolResult:
        """Call a tool that was approved, for a caller to whom its server is open."""
        await self.sync_configured_servers(call.caller)
        there, kept = await self._require_callable(call.caller, server, tool)
        check(kept)
        told = await self._call_with_retry(call, there, kept, arguments)
        return to_result(told, server=server, most_bytes=self.limits.answer_bytes)

    async def _require_callable(
        self, caller: Caller, name: str, tool: str
    ) -> tuple[UpstreamServer, StoredTool]:
        server, kept = await self.registry.load_tool(caller, name, tool)
        if kept is None:
            known = [it.name for it in await self.registry.list_tools(caller, name)]
            near = suggest_name(tool, known)
            raise NotFound(f"{name} has no tool {tool!r}{near}", tool=tool, available=[*known])
        if not server.enabled:
            raise Forbidden(
                f"the server {server.name} is switched off",
                server=server.name,
                hint="An administrator switches it on: hub.set_server with enabled.",
            )
        if not kept.is_open:
            raise Forbidden(
                f"the server {server.name} is not open to you",
                server=server.name,
                hint="An administrator opens it to you: hub.set_server.",
            )
        require_approved(kept)
        if not kept.effective.read_only and Scope.WRITE not in caller.scopes:
            raise Forbidden(
                f"{tool} of {server.name} may change something: it needs the scope pecia.write",
                scope=Scope.WRITE.value,
            )
        return server, kept

    async def _call_with_retry(
        self, call: Call, server: UpstreamServer, kept: StoredTool, arguments: Mapping[str, Json]
    ) -> dict[str, object]:
        """Send it. What may safely be done twice is sent again where the server died over it."""
        wanted = await self._connection_request(call.caller.tenant_id, server)
        may_repeat = kept.effective.read_only or kept.effective.idempotent
        for attempt in (1, 2):
            try:
                told = await self._call_once(call, wanted, server, kept, arguments)
            except Timeout as error:
                raise Timeout(error.message, **_sent_call_fields(error, may_repeat)) from None
            except UpstreamError as error:
                if not (may_repeat and isinstance(error, UpstreamGone) and attempt == 1):
                    raise _call_error(error, server.name, may_repeat=may_repeat) from None
            else:
                self.pool.reset_failures(wanted.key)
                return told
        raise UpstreamError("unreachable")

    async def _call_once(
        self,
        call: Call,
        wanted: ConnectionRequest,
        server: UpstreamServer,
        kept: StoredTool,
        arguments: Mapping[str, Json],
    ) -> dict[str, object]:
        clock = CallTimeout(call, server.options, timeout_in(call.session, self.limits.timeout_s))
        async with self.pool.acquire(wanted) as connected:
            if connected.is_fresh:
                # What it offers was just read anew: it may not be what was approved.
                await self._require_callable(call.caller, server.name, kept.name)
            require_capability(connected.connection, server, "tools/call")
            try:
                return await clock.call(connected.connection, kept.name, arguments)
            except UpstreamError as error:
                found = UpstreamGone if connected.connection.over.is_set() else UpstreamRefusal
                raise found(error.message, **error.fields) from None

    async def _record_catalog(
        self, wanted: ConnectionRequest, options: ServerOptions, line: UpstreamConnection
    ) -> UpstreamCatalog:
        """What the server offers now, written down."""
        tenant_id, server = wanted.key
        if not _has_capability(line, "tools") and options.strict_capabilities:
            # It is not asked for what it never said it has, and nothing is learned.
            return parse_catalog(())
        found = parse_catalog(await self._list_tools(server, line))
        await self.registry.record_catalog(tenant_id, server, found, takes=options.takes_changes)
        return found

    async def _list_tools(self, server: str, line: UpstreamConnection) -> Sequence[object]:
        try:
            return await line.tools()
        except UpstreamError:
            if _has_capability(line, "tools") or line.over.is_set():
                raise
            _log.warning("hub.capability", server=server, method="tools/list")
            return ()

    async def _connection_request(
        self, tenant_id: UUID, server: UpstreamServer
    ) -> ConnectionRequest:
        async def place() -> ServerEndpoint:
            found = await self.registry.load_endpoint(tenant_id, server.name)
            hosts = await self.network.hosts(tenant_id, is_operators=found.is_operator_managed)
            return replace(found.endpoint, hosts=hosts)

        async def greet(line: UpstreamConnection) -> None:
            await self._record_catalog(wanted, server.options, line)

        async def again() -> None:
            await self.refresh_throttle.refresh(
                (tenant_id, server.name), lambda: self.refresh_tools(tenant_id, server)
            )

        def hear(what: str) -> None:
            if what == "tools":
                self.pool.start_soon(again)

        # What the operator takes away must end the conversations that are open already.
        hosts = await self.network.hosts(tenant_id, is_operators=server.is_operator_managed)
        wanted = ConnectionRequest(
            (tenant_id, server.name), (server.version, hosts), place, greet, hear
        )
        return wanted


def require_approved(kept: StoredTool) -> None:
    """Refuse a tool that is not what somebody approved."""
    if kept.state == "approved":
        return
    said = {
        "new": "is new and not approved yet",
        "changed": "says something else than when it was approved",
        "gone": "is no longer there",
    }[kept.state]
    raise Forbidden(
        f"{kept.name} of {kept.server} {said}",
        tool=kept.name,
        state=kept.state,
        hint="An administrator looks at it and approves it: hub.approve_tools.",
    )


def require_capability(line: UpstreamConnection, server: UpstreamServer, method: str) -> None:
    """Where the server never said it serves this: an error if so wished, else a line in the log.

    Some serve more than they say.
    """
    family = method.partition("/")[0]
    if _has_capability(line, family):
        return
    told = f"{server.name} does not support {family} (required for {method})"
    if server.options.strict_capabilities:
        raise Unprocessable(told, method=method, capability=family)
    _log.warning("hub.capability", server=server.name, method=method)


def _has_capability(line: UpstreamConnection, family: str) -> bool:
    return family in line.about["can"]


def to_foreign_tool(kept: StoredTool, run: RunTool) -> ForeignTool:
    """An upstream tool as one of ours: what was approved of it, and whose it is."""
    told = kept.effective
    return ForeignTool(
        feature=FEATURE,
        name=kept.exposed or prefix_name(kept.server, kept.name),
        scope=Scope.READ if told.read_only else Scope.WRITE,
        description=f"[{kept.server}] {told.description}".strip(),
        input_schema=told.input_schema,
        run=run,
        output_schema=told.output_schema,
        read_only=told.read_only,
        destructive=told.destructive,
        idempotent=told.idempotent,
        open_world=told.open_world,
        title=told.title,
        timeout_s=MAX_CALL_S,
        aliases=(prefix_name(kept.server, kept.name),),
        server=kept.server,
        upstream_name=kept.name,
    )


def _call_error(error: UpstreamError, server: str, *, may_repeat: bool) -> UpstreamError:
    was_sent = isinstance(error, UpstreamGone | UpstreamRefusal)
    fields = _sent_call_fields(error, may_repeat) if was_sent else error.fields
    return UpstreamError(f"Tool execution failed: {error.message}", **{**fields, "server": server})


def _sent_call_fields(error: PeciaError, may_repeat: bool) -> dict[str, Json]:
    """The facts of a failure after the question was sent: what may have been done already is to be
    asked for again only where the tool says that this does no harm."""
    if may_repeat:
        return {**error.fields}
    return {**error.fields, "retryable": False, "hint": MAY_BE_DONE_HINT}
