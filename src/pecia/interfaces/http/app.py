"""The HTTP interface as one ASGI app, built from an open App. It starts nothing."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeAlias

import orjson
from anyio.to_thread import run_sync
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp

from pecia.app.app import App
from pecia.app.operator.backups import Backups
from pecia.features.lake.downloads.link import PATH as DOWNLOAD
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.endpoint import Handler, HttpEndpoint, not_found
from pecia.interfaces.http.middleware.edge import (
    BodyLimits,
    EdgeMiddleware,
    EdgeRules,
    TrustedHosts,
)
from pecia.interfaces.http.pages.overview import docs_page, home_page
from pecia.interfaces.http.pages.routes import document_routes
from pecia.interfaces.http.pages.template import (
    DESIGN_PATH,
    ICON_PATHS,
    serve_design,
    serve_icon,
)
from pecia.interfaces.http.routes.backups import BackupHandlers, backup_paths, backup_routes
from pecia.interfaces.http.routes.confirmations import confirmation_paths, confirmation_routes
from pecia.interfaces.http.routes.downloads import DownloadHandler
from pecia.interfaces.http.routes.feature_pages import page_routes
from pecia.interfaces.http.routes.feature_websockets import websocket_routes
from pecia.interfaces.http.routes.health import Health
from pecia.interfaces.http.routes.metrics import CallMetrics, MetricsHandler
from pecia.interfaces.http.routes.openapi import build_document
from pecia.interfaces.http.routes.resource_metadata import metadata_paths
from pecia.interfaces.http.routes.status import (
    indexes_handler,
    settings_handler,
    status_handler,
)
from pecia.interfaces.http.routes.tool_list import tool_info_handler, tool_list_handler
from pecia.interfaces.http.routes.tools import API, dynamic_tool_endpoint, tool_paths
from pecia.kernel.settings.kernel import KernelSettings
from pecia.kernel.tool.on_demand import load_tools

BODY_IDLE_S = 10.0


@dataclass(frozen=True, slots=True)
class HttpMount:
    """What another interface mounts here: its routes, and what runs while they are served."""

    routes: tuple[BaseRoute, ...] = ()
    paths: Mapping[str, ASGIApp] = field(default_factory=dict[str, ASGIApp])
    """Exact paths and their apps."""
    resources: tuple[str, ...] = ()
    """Its paths that are protected resources, each with its own metadata."""
    refuses_long_bodies: bool = False
    """Whether its `paths` answer a body that is too long in a protocol of their own."""
    lifespan: Callable[[], AbstractAsyncContextManager[None]] | None = None
    home: Handler | None = None
    """Served at `/` instead of the overview page."""
    on_shutdown: Callable[[], None] | None = None
    """Called when the server stops, to end streams that would never end by themselves."""


BuildMount: TypeAlias = Callable[[App, HttpAuthenticator], HttpMount]


def build_http_app(
    app: App,
    authenticator: HttpAuthenticator,
    mounts: Sequence[HttpMount] = (),
    *,
    instance: str = "",
) -> ASGIApp:
    """Everything that is served over HTTP, inside the edge middleware."""
    resources = (API, *(it for mount in mounts for it in mount.resources))
    health = Health(app, instance)
    backups = BackupHandlers(
        app, authenticator, Backups(app.settings.kernel, app.store.logins.system)
    )
    exact: dict[str, ASGIApp] = {
        **_builtin_paths(app, authenticator, health),
        **_home(app, mounts),
        **metadata_paths(app, resources),
        **tool_paths(app, authenticator),
        **confirmation_paths(app, authenticator),
        **backup_paths(backups),
        **{path: it for mount in mounts for path, it in mount.paths.items()},
    }
    rest = Router(
        [
            *(it for mount in mounts for it in mount.routes),
            *page_routes(app, authenticator),
            *document_routes(app, authenticator),
            *websocket_routes(app, authenticator),
            *confirmation_routes(app, authenticator),
            *backup_routes(backups),
            Route(
                f"{API}/tools/{{name}}",
                HttpEndpoint({"GET": tool_info_handler(app, authenticator)}),
            ),
            Route(f"{API}/{{toolset}}/{{tool}}", dynamic_tool_endpoint(app, authenticator)),
        ],
        redirect_slashes=False,
        default=not_found,
    )
    own = frozenset(it for mount in mounts if mount.refuses_long_bodies for it in mount.paths)
    rules = replace(_edge_rules(app.settings.kernel, resources), own_refusals=own)
    return EdgeMiddleware(rest, rules, exact)


def _builtin_paths(
    app: App, authenticator: HttpAuthenticator, health: Health
) -> Mapping[str, ASGIApp]:
    handlers: dict[str, Handler] = {
        "/healthz": health.alive,
        "/readyz": health.ready,
        DESIGN_PATH: serve_design,
        **dict.fromkeys(ICON_PATHS, serve_icon),
        f"{API}/docs": docs_page(app),
        f"{API}/indexes": indexes_handler(app, authenticator),
        f"{API}/openapi.json": _openapi(app),
        f"{API}/settings": settings_handler(app, authenticator),
        f"{API}/status": status_handler(app, authenticator),
        f"{API}/tools": tool_list_handler(app, authenticator),
        DOWNLOAD: DownloadHandler(app, authenticator).handle,
    }
    if app.settings.kernel.metrics_enabled:
        metrics = CallMetrics(app)
        app.dispatcher.observers.append(metrics)
        handlers["/metrics"] = MetricsHandler(app, authenticator, health, metrics).handle
    return {path: HttpEndpoint({"GET": handler}) for path, handler in handlers.items()}


def _home(app: App, mounts: Sequence[HttpMount]) -> Mapping[str, ASGIApp]:
    homes = [it.home for it in mounts if it.home]
    return {"/": HttpEndpoint({"GET": homes[0] if homes else home_page(app)})}


def _openapi(app: App) -> Handler:
    """The document, built with the first request for it: 0.3 s of a processor."""

    @cache
    def build() -> bytes:
        settings = app.settings.kernel
        document = build_document(
            [*app.full_view.tools.values()],
            server_url=settings.public_url or "/",
            needs_token=settings.mode == "server",
        )
        return orjson.dumps(document)

    async def answer(request: Request) -> Response:
        await load_tools(app.full_view.tools.values())
        return Response(await run_sync(build), media_type="application/json")

    return answer


def _edge_rules(settings: KernelSettings, resources: Sequence[str]) -> EdgeRules:
    return EdgeRules(
        hosts=TrustedHosts.from_settings(settings),
        trusted=settings.trusted_proxies,
        body=BodyLimits(settings.body_limit_bytes, BODY_IDLE_S, settings.request_timeout_s),
        public_url=settings.public_url,
        resources=resources,
    )
