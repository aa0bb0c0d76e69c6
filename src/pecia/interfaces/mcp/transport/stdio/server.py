"""One feature served over stdio by this process: no server, no database, one caller.

Every call still goes through the dispatcher. Its audit log goes to a temporary folder: there is no
database to keep it. Stdout has messages and nothing else.
"""

import tempfile
from collections.abc import Awaitable, Callable, Coroutine, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

import anyio
from mcp.server.context import HandlerResult, ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.server.lowlevel.server import NotificationOptions
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import (
    InMemorySubscriptionBus,
    ListenHandler,
    ResourcesListChanged,
    ResourceUpdated,
)
from mcp_types import (
    CallToolRequestParams,
    EmptyResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    SubscribeRequestParams,
    SubscriptionsListenRequestParams,
    UnsubscribeRequestParams,
)

from pecia import __version__
from pecia.app.dispatch import Dispatcher, Operation, RequestContext
from pecia.interfaces.mcp.content import COMPLETE_RESULT, drop_none, resource_contents, tool_result
from pecia.interfaces.mcp.errors import is_protocol_error, resource_error, rpc_error, tool_error
from pecia.interfaces.mcp.methods.tool_list import describe_tool
from pecia.interfaces.mcp.request_context import is_modern
from pecia.interfaces.mcp.transport.stdio.drain import drain_on_eof
from pecia.kernel.errors import NotFound, PeciaError
from pecia.kernel.feature import Feature
from pecia.kernel.identity.caller import Caller
from pecia.kernel.rate_limit import RateLimit, RateLimiter
from pecia.kernel.store.audit.spool import AuditSpool
from pecia.kernel.tool.call import Call
from pecia.kernel.tool.model import Resource, find_resource
from pecia.kernel.tool.on_demand import load_tools
from pecia.kernel.tool.view import ToolView, feature_view

CALL_TIMEOUT_S = 120.0
UNLIMITED = RateLimit(100_000, 1, 100_000)
NO_CACHE = {"ttlMs": 0, "cacheScope": "private"}
REQUEST_CONTEXT = RequestContext("stdio")

Context: TypeAlias = ServerRequestContext[Any, Any]
NotifyChanges: TypeAlias = Callable[[Iterable[str], bool], Awaitable[None]]
"""Called with the URIs that changed, and whether the list changed."""


async def serve_stdio(
    feature: Feature, caller: Caller, watching: Callable[[NotifyChanges], Coroutine[Any, Any, None]]
) -> None:
    """Serve until stdin ends. `watching` runs concurrently, and reports changes."""
    with tempfile.TemporaryDirectory(prefix="pecia-") as folder:
        spool = AuditSpool(Path(folder))
        dispatcher = Dispatcher(spool, RateLimiter(UNLIMITED), CALL_TIMEOUT_S)
        handlers = _StdioHandlers(
            feature, caller, dispatcher, feature_view(feature.tools, feature.name)
        )
        async with (
            stdio_server() as streams,
            drain_on_eof(*streams) as (reading, writing),
            anyio.create_task_group() as group,
        ):
            group.start_soon(watching, handlers.notify)
            server = _server(handlers)
            changing = NotificationOptions(resources_changed=True)
            options = server.create_initialization_options(changing, {}, {})
            await server.run(reading, writing, options)
            group.cancel_scope.cancel()


@dataclass(slots=True)
class _StdioHandlers:
    """The handlers and the subscriptions."""

    feature: Feature
    caller: Caller
    dispatcher: Dispatcher
    view: ToolView
    bus: InMemorySubscriptionBus = field(default_factory=InMemorySubscriptionBus)
    session: ServerSession | None = None
    uris: set[str] = field(default_factory=set[str])

    async def notify(self, uris: Iterable[str], listing: bool) -> None:
        """Notify subscribers of changed resources."""
        for uri in uris:
            await self.bus.publish(ResourceUpdated(uri=uri))
            if self.session is not None and uri in self.uris:
                await self.session.send_resource_updated(uri)
        if listing:
            await self.bus.publish(ResourcesListChanged())
            if self.session is not None:
                await self.session.send_resource_list_changed()

    async def list_tools(self, ctx: Context, params: PaginatedRequestParams) -> HandlerResult:
        await load_tools(self.view.tools.values())
        tools = [describe_tool(name, it, is_lean=False) for name, it in self.view.tools.items()]
        return {**COMPLETE_RESULT, "tools": tools, **NO_CACHE}

    async def call(self, ctx: Context, params: CallToolRequestParams) -> HandlerResult:
        modern = is_modern(ctx.protocol_version)
        try:
            result = await self.dispatcher.call(
                self.caller, self.view, params.name, params.arguments or {}, REQUEST_CONTEXT
            )
        except PeciaError as error:
            if is_protocol_error(error, modern=modern):
                raise rpc_error(error, modern=modern) from None
            return tool_error(error)
        return tool_result(result, modern=modern)

    async def list_resources(self, ctx: Context, params: PaginatedRequestParams) -> HandlerResult:
        family = self.feature.resources[0]

        async def work(call: Call) -> HandlerResult:
            page = await family.listing(call, params.cursor)
            entries = [
                drop_none(
                    {"uri": it.uri, "name": it.name, "title": it.title, "mimeType": it.mime_type}
                )
                for it in page.entries
            ]
            listed = drop_none({"resources": entries, "nextCursor": page.next_cursor})
            return {**COMPLETE_RESULT, **listed, **NO_CACHE}

        return await self._run_operation(ctx, family, "resources/list", work)

    async def list_templates(self, ctx: Context, params: PaginatedRequestParams) -> HandlerResult:
        found = [
            {"uriTemplate": it.uri_template, "name": it.name, "description": it.description}
            for it in self.feature.templates
        ]
        return {**COMPLETE_RESULT, "resourceTemplates": found, **NO_CACHE}

    async def read(self, ctx: Context, params: ReadResourceRequestParams) -> HandlerResult:
        uri = str(params.uri)
        family = find_resource(self.feature.resources, uri)
        if family is None:
            absent = NotFound(f"no resource {uri[:500]!r} here", uri=uri[:500])
            raise rpc_error(absent, modern=is_modern(ctx.protocol_version))

        async def work(call: Call) -> HandlerResult:
            contents = await family.read(call, uri)
            return {
                **COMPLETE_RESULT,
                "contents": [resource_contents(it) for it in contents],
                **NO_CACHE,
            }

        return await self._run_operation(ctx, family, "resources/read", work)

    async def subscribe(self, ctx: Context, params: SubscribeRequestParams) -> EmptyResult:
        self.session = ctx.session
        self.uris.add(str(params.uri))
        return EmptyResult()

    async def unsubscribe(self, ctx: Context, params: UnsubscribeRequestParams) -> EmptyResult:
        self.uris.discard(str(params.uri))
        return EmptyResult()

    async def _run_operation(
        self,
        ctx: Context,
        family: Resource,
        method: str,
        work: Callable[[Call], Awaitable[HandlerResult]],
    ) -> HandlerResult:
        operation = Operation(f"{family.feature}.{method}", family.scope)
        try:
            return await self.dispatcher.run(self.caller, operation, REQUEST_CONTEXT, work)
        except PeciaError as error:
            modern = is_modern(ctx.protocol_version)
            raise resource_error(error, modern=modern, by_reference=False) from None


def _server(handlers: _StdioHandlers) -> Server[Any]:
    server: Server[Any] = Server(f"pecia-{handlers.feature.name}", version=__version__)
    add = server.add_request_handler
    add("tools/list", PaginatedRequestParams, handlers.list_tools)
    add("tools/call", CallToolRequestParams, handlers.call)
    add("resources/list", PaginatedRequestParams, handlers.list_resources)
    add("resources/templates/list", PaginatedRequestParams, handlers.list_templates)
    add("resources/read", ReadResourceRequestParams, handlers.read)
    add("resources/subscribe", SubscribeRequestParams, handlers.subscribe)
    add("resources/unsubscribe", UnsubscribeRequestParams, handlers.unsubscribe)
    add("subscriptions/listen", SubscriptionsListenRequestParams, ListenHandler(handlers.bus))
    return server
