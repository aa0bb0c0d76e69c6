"""The hub's operations: refresh a server, call its tools. Upstream output is only data."""

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
from pecia.features.hub.model import ServerEndpoint, StoredTool, UpstreamServer
from pecia.features.hub.ports import UpstreamConnection, UpstreamNetwork
from pecia.features.hub.refresh_throttle import RefreshThrottle
from pecia.features.hub.settings import timeout_in
from pecia.features.hub.store import ServerRegistry
from pecia.kernel.errors import (
    MAY_BE_DONE_HINT,
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
from pecia.kernel.tool.model import ForeignTool, ToolResult, WithheldTool
from pecia.kernel.tool.suggestion import nearest_names, suggest_name

RunTool: TypeAlias = Callable[[Call, Mapping[str, Json]], Awaitable[ToolResult]]

FEATURE = "hub"
LIST_TOOLS_TIMEOUT_S = 60.0
CLEANUP_INTERVAL_S = 10.0

_log = Log(__name__)


class UpstreamGone(UpstreamError):
    """The connection was lost during a request. Whether it was executed is unknown."""


class UpstreamRefusal(UpstreamError):
    """The server refused a request. It may have executed a part of it."""


@dataclass(frozen=True, slots=True)
class HubLimits:
    """Default timeouts, and the maximum size of an answer."""

    timeout_s: float
    answer_bytes: int


@dataclass(frozen=True, slots=True)
class Hub:
    """Everything that can be done with upstream servers."""

    registry: ServerRegistry
    pool: ConnectionPool
    network: UpstreamNetwork
    limits: HubLimits
    servers_file: ServersFile | None = None
    refresh_throttle: RefreshThrottle = field(default_factory=RefreshThrottle)

    @asynccontextmanager
    async def running(self) -> AsyncGenerator[None]:
        """While entered, connections stay open. An invalid servers file fails here, at startup."""
        if self.servers_file is not None:
            await self.servers_file.read()
        async with self.pool.running():
            self.pool.start_soon(self._cleanup_loop)
            yield

    async def remove_expired_servers(self) -> None:
        """Removes servers of ended sessions, and stops their programs."""
        for key in await self.registry.remove_expired():
            self.pool.evict(key)

    async def _cleanup_loop(self) -> None:
        """Sessions may end without notice: the client was killed, or this server was."""
        while True:
            try:
                await self.remove_expired_servers()
            except PeciaError as error:
                _log.failure("hub.sweep", error)
            await anyio.sleep(CLEANUP_INTERVAL_S)

    async def sync_configured_servers(self, caller: Caller) -> None:
        """Sync the operator's file for the caller's tenant."""
        if self.servers_file is not None:
            await self.servers_file.sync_tenant(caller)

    def connection_status(self, caller: Caller, server: str) -> ConnectionStatus:
        return self.pool.status((caller.tenant_id, server))

    async def require_allowed_host(self, tenant_id: UUID, endpoint: ServerEndpoint) -> None:
        """Refuse an internal host that this tenant was not given."""
        hosts = await self.network.hosts(tenant_id, is_operators=False)
        await self.network.check(replace(endpoint, hosts=hosts))

    async def refresh_tools(
        self, tenant_id: UUID, server: UpstreamServer, *, is_added: bool = False
    ) -> UpstreamCatalog:
        """List a server's tools, and record what changed. With `is_added` a person has just
        confirmed the server with the tools that it has now."""
        request = await self._connection_request(tenant_id, server, is_added=is_added)
        with anyio.move_on_after(LIST_TOOLS_TIMEOUT_S):
            async with self.pool.acquire(request) as connected:
                found = await self._record_catalog(
                    tenant_id, server, connected.connection, is_added=is_added
                )
            self.pool.reset_failures(request.key)
            return found
        raise Timeout(
            f"{server.name} did not list its tools in {LIST_TOOLS_TIMEOUT_S:g} s",
            timeout_s=LIST_TOOLS_TIMEOUT_S,
            hint=f"No setting changes this limit. Try again: pecia hub check {server.name}.",
        )

    async def call(
        self,
        call: Call,
        server: str,
        tool: str,
        arguments: Mapping[str, Json],
        check: Callable[[StoredTool], None] = lambda kept: None,
    ) -> ToolResult:
        """Call an approved tool, for a caller who may use its server."""
        await self.sync_configured_servers(call.caller)
        there, kept = await self._require_callable(call.caller, server, tool)
        check(kept)
        answer = await self._call_with_retry(call, there, kept, arguments)
        return to_result(answer, server=server, most_bytes=self.limits.answer_bytes)

    async def _require_callable(
        self, caller: Caller, name: str, tool: str
    ) -> tuple[UpstreamServer, StoredTool]:
        server, kept = await self.registry.load_tool(caller, name, tool)
        if kept is None:
            known = [it.name for it in await self.registry.list_tools(caller, name)]
            raise NotFound(
                f"{name} has no tool {tool!r}{suggest_name(tool, known)}",
                tool=tool,
                available=[*nearest_names(tool, known)],
            )
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
        """Send it. Retried after a lost connection only where the tool is safe to repeat."""
        request = await self._connection_request(call.caller.tenant_id, server)
        may_repeat = kept.effective.read_only or kept.effective.idempotent
        for attempt in (1, 2):
            try:
                answer = await self._call_once(call, request, server, kept, arguments)
            except Timeout as error:
                raise Timeout(error.message, **_sent_call_fields(error, may_repeat)) from None
            except UpstreamError as error:
                if not (may_repeat and isinstance(error, UpstreamGone) and attempt == 1):
                    raise _call_error(error, server.name, may_repeat=may_repeat) from None
            else:
                self.pool.reset_failures(request.key)
                return answer
        raise UpstreamError("unreachable")

    async def _call_once(
        self,
        call: Call,
        request: ConnectionRequest,
        server: UpstreamServer,
        kept: StoredTool,
        arguments: Mapping[str, Json],
    ) -> dict[str, object]:
        clock = CallTimeout(call, server.options, timeout_in(call.session, self.limits.timeout_s))
        async with self.pool.acquire(request) as connected:
            if connected.is_fresh:
                # The catalog was just refreshed: the tool may no longer be as approved.
                await self._require_callable(call.caller, server.name, kept.name)
            require_capability(connected.connection, server, "tools/call")
            try:
                return await clock.call(connected.connection, kept.name, arguments)
            except UpstreamError as error:
                found = UpstreamGone if connected.connection.over.is_set() else UpstreamRefusal
                raise found(error.message, **error.fields) from None

    async def _record_catalog(
        self, tenant_id: UUID, server: UpstreamServer, line: UpstreamConnection, *, is_added: bool
    ) -> UpstreamCatalog:
        """Record what the server offers now."""
        options = server.options
        if not _has_capability(line, "tools") and options.strict_capabilities:
            # It declares no tools: it is not asked for them, and nothing is recorded.
            return parse_catalog(())
        found = parse_catalog(await self._list_tools(server.name, line))
        await self.registry.record_catalog(
            tenant_id,
            server.name,
            found,
            takes=options.takes_changes,
            # Nobody adds a server of the operator's file: it is listed when it is first needed.
            is_initial=is_added or server.is_operator_managed,
        )
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
        self, tenant_id: UUID, server: UpstreamServer, *, is_added: bool = False
    ) -> ConnectionRequest:
        async def load_endpoint() -> ServerEndpoint:
            found = await self.registry.load_endpoint(tenant_id, server.name)
            hosts = await self.network.hosts(tenant_id, is_operators=found.is_operator_managed)
            return replace(found.endpoint, hosts=hosts)

        async def greet(line: UpstreamConnection) -> None:
            await self._record_catalog(tenant_id, server, line, is_added=is_added)

        async def again() -> None:
            await self.refresh_throttle.refresh(
                (tenant_id, server.name), lambda: self.refresh_tools(tenant_id, server)
            )

        def on_list_changed(what: str) -> None:
            if what == "tools":
                self.pool.start_soon(again)

        # A host taken from the tenant must also close open connections.
        hosts = await self.network.hosts(tenant_id, is_operators=server.is_operator_managed)
        return ConnectionRequest(
            (tenant_id, server.name), (server.version, hosts), load_endpoint, greet, on_list_changed
        )


def require_approved(kept: StoredTool) -> None:
    """Refuse a tool that is not as approved."""
    if kept.state == "approved":
        return
    held = explain_withheld(kept)
    raise Forbidden(held.reason, tool=held.name, state=kept.state, hint=held.hint)


def explain_withheld(kept: StoredTool) -> WithheldTool:
    """Why a tool that is not as approved cannot be called, and the command that leads on."""
    said = {
        "new": "is new and not approved yet",
        "changed": "has changed since it was approved",
        "gone": "is no longer there",
    }[kept.state]
    review = f"hub.approve_tools, pecia hub approve {kept.server} --tools {kept.name}"
    look = f"An administrator sees what it has: pecia hub check {kept.server}"
    hint = look if kept.is_gone else f"An administrator reviews and approves it: {review}"
    return WithheldTool(kept.name, f"{kept.name} of {kept.server} {said}", hint)


def require_capability(line: UpstreamConnection, server: UpstreamServer, method: str) -> None:
    """For a capability the server did not declare: an error if strict, else a log entry.

    Some servers support more than they declare.
    """
    family = method.partition("/")[0]
    if _has_capability(line, family):
        return
    problem = f"{server.name} does not support {family} (required for {method})"
    if server.options.strict_capabilities:
        raise Unprocessable(problem, method=method, capability=family)
    _log.warning("hub.capability", server=server.name, method=method)


def _has_capability(line: UpstreamConnection, family: str) -> bool:
    return family in line.about["can"]


def to_foreign_tool(kept: StoredTool, run: RunTool) -> ForeignTool:
    """An upstream tool as one of ours: its approved definition, and its server."""
    definition = kept.effective
    return ForeignTool(
        feature=FEATURE,
        name=kept.exposed or prefix_name(kept.server, kept.name),
        scope=Scope.READ if definition.read_only else Scope.WRITE,
        description=f"[{kept.server}] {definition.description}".strip(),
        input_schema=definition.input_schema,
        run=run,
        output_schema=definition.output_schema,
        read_only=definition.read_only,
        destructive=definition.destructive,
        idempotent=definition.idempotent,
        open_world=definition.open_world,
        title=definition.title,
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
    """Fields of an error after the request was sent: it may have been executed, so retrying is safe
    only where the tool says so."""
    if may_repeat:
        return {**error.fields}
    hint = " ".join(str(it) for it in (MAY_BE_DONE_HINT, error.fields.get("hint")) if it)
    return {**error.fields, "retryable": False, "hint": hint}
