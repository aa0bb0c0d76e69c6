"""The MCP endpoints, imported and opened with their first request, or soon after the server is up.

The SDK's types take half a second of a processor to import, a sixth of a start; who asks over HTTP
or the command line does not wait for them.
"""

import gc
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

import anyio
from anyio.to_thread import run_sync
from starlette.types import ASGIApp, Receive, Scope, Send

from pecia.app.app import App
from pecia.features.discovery.feature import require_known_tools
from pecia.features.discovery.settings import DiscoverySettings
from pecia.interfaces.http.app import BuildMount, HttpMount
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.mcp.views.endpoints import list_endpoints, list_sse_endpoints, messages_path

OPEN_AFTER_S = 2.0


def mount_mcp_on_demand(app: App, authenticator: HttpAuthenticator) -> HttpMount:
    """The same paths as `mount_mcp` has, which is called when one of them is asked for."""
    settings, discovery = app.settings.kernel, app.settings.part(DiscoverySettings)
    if not settings.mcp_enabled:
        return HttpMount()
    if discovery.conformance:
        # Its feature adds endpoints that are known only then.
        return _import_mount()(app, authenticator)
    require_known_tools(app.full_view, discovery.tools)
    names = [feature.name for feature in app.features]
    endpoints = list_endpoints(names, settings.mcp_root)
    older = list_sse_endpoints(names, settings.mcp_root)
    paths = [it.path for it in (*endpoints, *older)]
    mount = _McpOnDemand(app, authenticator)
    return HttpMount(
        paths={it: mount.app_of(it) for it in (*paths, *map(messages_path, older))},
        resources=tuple(paths),
        refuses_long_bodies=True,
        lifespan=mount.lifespan,
        on_shutdown=mount.on_shutdown,
    )


def _import_mount() -> BuildMount:
    from pecia.interfaces.mcp.mount import mount_mcp

    return mount_mcp


class _McpOnDemand:
    def __init__(self, app: App, authenticator: HttpAuthenticator) -> None:
        self._app = app
        self._authenticator = authenticator
        self._wanted = anyio.Event()
        self._opened = anyio.Event()
        self._closing = anyio.Event()
        self._mount = HttpMount()

    def app_of(self, path: str) -> ASGIApp:
        return partial(self._serve, path)

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._open)
            try:
                yield
            finally:
                # Not cancelled: what is open is closed in its own order.
                self._closing.set()
                self._wanted.set()

    def on_shutdown(self) -> None:
        if self._mount.on_shutdown is not None:
            self._mount.on_shutdown()

    async def _serve(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        self._wanted.set()
        await self._opened.wait()
        await self._mount.paths[path](scope, receive, send)

    async def _open(self) -> None:
        with anyio.move_on_after(OPEN_AFTER_S):
            await self._wanted.wait()
        if self._closing.is_set():
            return
        mount = (await run_sync(_import_mount))(self._app, self._authenticator)
        assert mount.lifespan is not None
        async with mount.lifespan():
            self._mount = mount
            self._opened.set()
            # Modules live as long as the process.
            gc.freeze()
            await self._closing.wait()
