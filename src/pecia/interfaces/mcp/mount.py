"""Every MCP endpoint of this server, hung into the HTTP door by one function."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import anyio
from starlette.types import ASGIApp

from pecia.app.app import App
from pecia.features.discovery.feature import require_known_tools
from pecia.features.discovery.settings import DiscoverySettings
from pecia.interfaces.http.app import HttpMount
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.mcp.methods.change_listener import McpChangeListener
from pecia.interfaces.mcp.methods.subscriptions import Subscriptions
from pecia.interfaces.mcp.methods.tasks import McpTaskStore
from pecia.interfaces.mcp.server import McpServices
from pecia.interfaces.mcp.transport.disconnect import DisconnectWatchers
from pecia.interfaces.mcp.transport.session_table import SessionLimits, SessionTable
from pecia.interfaces.mcp.transport.sse import SseEndpoint
from pecia.interfaces.mcp.transport.streamable_http import StreamableHttpEndpoint
from pecia.interfaces.mcp.views.endpoint_view import EndpointViews
from pecia.interfaces.mcp.views.endpoints import list_endpoints, list_sse_endpoints, messages_path
from pecia.kernel.feature import Feature
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.tool.model import ResourceWatch


def mount_mcp(
    app: App, keeper: HttpAuthenticator, changes: Subscriptions | None = None
) -> HttpMount:
    """Everything below `/mcp` and `/sse`; nothing where MCP is switched off.

    Whoever keeps the `changes` can tell clients that something changed.
    """
    settings = app.settings.kernel
    if not settings.mcp_enabled:
        return HttpMount()
    changes = changes or Subscriptions()
    desk = app.settings.part(DiscoverySettings)
    require_known_tools(app.full_view, desk.tools)
    guests = [room.dynamic_tools for room in app.features if room.dynamic_tools is not None]
    following = McpChangeListener(app.store, changes, _watches_by_scheme(app.features), guests)
    changes.stamps = following.read_stamps
    extra = _conformance_features(changes) if desk.conformance else ()
    offers, sessions = (
        EndpointViews(app, desk.tools, extra),
        SessionTable(_session_limits(settings)),
    )
    parts = McpServices(app, offers, changes, McpTaskStore(), DisconnectWatchers(), sessions)
    names = [room.name for room in (*app.features, *extra)]
    doors = [
        StreamableHttpEndpoint(it, parts, keeper) for it in list_endpoints(names, settings.mcp_root)
    ]
    older = [SseEndpoint(it, parts, keeper) for it in list_sse_endpoints(names, settings.mcp_root)]
    return HttpMount(
        paths={**{it.endpoint.path: it for it in doors}, **_sse_paths(older)},
        resources=tuple(it.endpoint.path for it in (*doors, *older)),
        lifespan=lambda: _lifespan(doors, parts, following),
    )


def _session_limits(settings: KernelSettings) -> SessionLimits:
    return SessionLimits(
        settings.mcp_sessions_per_user,
        settings.mcp_sessions_max,
        settings.mcp_session_idle_s,
        settings.mcp_sessions_per_minute,
    )


def _watches_by_scheme(rooms: Sequence[Feature]) -> dict[str, ResourceWatch]:
    return {it.scheme: it.watch for room in rooms for it in room.resources if it.watch}


def _sse_paths(doors: Sequence[SseEndpoint]) -> dict[str, ASGIApp]:
    streams = {it.endpoint.path: it.stream for it in doors}
    return {**streams, **{messages_path(it.endpoint): it.messages for it in doors}}


@asynccontextmanager
async def _lifespan(
    doors: Sequence[StreamableHttpEndpoint], parts: McpServices, following: McpChangeListener
) -> AsyncGenerator[None]:
    async with anyio.create_task_group() as group:
        await group.start(parts.tasks.serve)
        group.start_soon(following.run)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(parts.watchers.run())
            for door in doors:
                await stack.enter_async_context(door.lifespan())
            # Before the sessions end: a stream is closed in good order while it can be.
            stack.callback(parts.subscriptions.close)
            yield
        group.cancel_scope.cancel()


def _conformance_features(changes: Subscriptions) -> tuple[Feature, ...]:
    # Fixtures for tests: nobody else should pay for importing them.
    from pecia.interfaces.mcp.conformance.feature import conformance_feature

    return (conformance_feature(changes),)
