"""Mounts every MCP endpoint of this server on the HTTP interface."""

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
from pecia.interfaces.mcp.transport.exchange import DisconnectWatchers
from pecia.interfaces.mcp.transport.session_table import SessionLimits, SessionTable
from pecia.interfaces.mcp.transport.sse import SseEndpoint
from pecia.interfaces.mcp.transport.streamable_http import StreamableHttpEndpoint
from pecia.interfaces.mcp.views.endpoint_view import EndpointViews
from pecia.interfaces.mcp.views.endpoints import list_endpoints, list_sse_endpoints, messages_path
from pecia.kernel.feature import Feature
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.tool.model import ResourceWatch


def mount_mcp(
    app: App, authenticator: HttpAuthenticator, changes: Subscriptions | None = None
) -> HttpMount:
    """Everything below `/mcp` and `/sse`; nothing where MCP is switched off.

    The owner of `changes` can notify clients of changes.
    """
    settings = app.settings.kernel
    if not settings.mcp_enabled:
        return HttpMount()
    changes = changes or Subscriptions()
    discovery = app.settings.part(DiscoverySettings)
    require_known_tools(app.full_view, discovery.tools)
    dynamic_tools = [
        feature.dynamic_tools for feature in app.features if feature.dynamic_tools is not None
    ]
    listener = McpChangeListener(
        app.store, changes, _watches_by_scheme(app.features), dynamic_tools
    )
    changes.stamps = listener.read_stamps
    extra = _conformance_features(changes) if discovery.conformance else ()
    views, sessions = (
        EndpointViews(app, discovery.tools, extra),
        SessionTable(_session_limits(settings)),
    )
    services = McpServices(app, views, changes, McpTaskStore(), DisconnectWatchers(), sessions)
    names = [feature.name for feature in (*app.features, *extra)]
    endpoints = [
        StreamableHttpEndpoint(it, services, authenticator)
        for it in list_endpoints(names, settings.mcp_root)
    ]
    older = [
        SseEndpoint(it, services, authenticator)
        for it in list_sse_endpoints(names, settings.mcp_root)
    ]

    def close_streams() -> None:
        changes.close()
        for it in endpoints:
            it.close_streams()

    return HttpMount(
        paths={**{it.endpoint.path: it for it in endpoints}, **_sse_paths(older)},
        resources=tuple(it.endpoint.path for it in (*endpoints, *older)),
        refuses_long_bodies=True,
        lifespan=lambda: _lifespan(endpoints, services, listener),
        on_shutdown=close_streams,
    )


def _session_limits(settings: KernelSettings) -> SessionLimits:
    return SessionLimits(
        settings.mcp_sessions_per_user,
        settings.mcp_sessions_max,
        settings.mcp_session_idle_s,
        settings.mcp_sessions_per_minute,
    )


def _watches_by_scheme(features: Sequence[Feature]) -> dict[str, ResourceWatch]:
    return {it.scheme: it.watch for feature in features for it in feature.resources if it.watch}


def _sse_paths(endpoints: Sequence[SseEndpoint]) -> dict[str, ASGIApp]:
    streams = {it.endpoint.path: it.stream for it in endpoints}
    return {**streams, **{messages_path(it.endpoint): it.messages for it in endpoints}}


@asynccontextmanager
async def _lifespan(
    endpoints: Sequence[StreamableHttpEndpoint], services: McpServices, listener: McpChangeListener
) -> AsyncGenerator[None]:
    async with anyio.create_task_group() as group:
        await group.start(services.tasks.serve)
        group.start_soon(listener.run)
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(services.watchers.run())
            for endpoint in endpoints:
                await stack.enter_async_context(endpoint.lifespan())
            yield
        group.cancel_scope.cancel()


def _conformance_features(changes: Subscriptions) -> tuple[Feature, ...]:
    # Lazy import: test fixtures only.
    from pecia.interfaces.mcp.conformance.feature import conformance_feature

    return (conformance_feature(changes),)
