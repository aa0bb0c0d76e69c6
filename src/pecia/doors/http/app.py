"""The HTTP door as one ASGI app, put together from an open App. It starts nothing."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from typing import TypeAlias

import orjson
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from pecia.app.app import App
from pecia.doors.http.body import BodyLimits
from pecia.doors.http.downloads import Downloads
from pecia.doors.http.endpoint import Endpoint, Handler, nothing_here
from pecia.doors.http.front import Front, Rules
from pecia.doors.http.health import Health
from pecia.doors.http.listing import list_tools
from pecia.doors.http.metrics import Metrics, MetricsDesk
from pecia.doors.http.names import Names
from pecia.doors.http.openapi import document
from pecia.doors.http.pages import docs_page, home_page
from pecia.doors.http.person import person_paths, person_routes
from pecia.doors.http.room_pages import page_routes
from pecia.doors.http.room_sockets import socket_routes
from pecia.doors.http.tools import API, tool_paths, unknown_tool
from pecia.doors.http.visit import Doorkeeper
from pecia.doors.http.wellknown import metadata_paths
from pecia.kernel.settings.kernel import KernelSettings
from pecia.rooms.lake.links import PATH as DOWNLOAD

BODY_IDLE_S = 10.0


@dataclass(frozen=True, slots=True)
class Annex:
    """What another door hangs into this one: its routes, and what runs while they are served."""

    routes: tuple[BaseRoute, ...] = ()
    paths: Mapping[str, ASGIApp] = field(default_factory=dict[str, ASGIApp])
    """Paths known to the letter, and who answers there."""
    resources: tuple[str, ...] = ()
    """Paths of it that are protected resources, each with metadata of its own."""
    running: Callable[[], AbstractAsyncContextManager[None]] | None = None
    home: Handler | None = None
    """Stands at `/` instead of the plain page."""
    stopping: Callable[[], None] | None = None
    """Told when the server stops: the moment to end streams that would never end by themselves."""


BuildAnnex: TypeAlias = Callable[[App, Doorkeeper], Annex]


def http_app(
    app: App,
    keeper: Doorkeeper,
    annexes: Sequence[Annex] = (),
    *,
    instance: str = "",
) -> ASGIApp:
    """Everything that is served over HTTP, with the front before it."""
    resources = (API, *(it for annex in annexes for it in annex.resources))
    health = Health(app, instance)
    exact: dict[str, ASGIApp] = {
        **_own_paths(app, keeper, health),
        **_home(app, annexes),
        **metadata_paths(app, resources),
        **tool_paths(app, keeper),
        **person_paths(app, keeper),
        **{path: it for annex in annexes for path, it in annex.paths.items()},
    }
    rest = Router(
        [
            *(it for annex in annexes for it in annex.routes),
            *page_routes(app, keeper),
            *socket_routes(app, keeper),
            *person_routes(app, keeper),
            Route(f"{API}/{{room}}/{{tool}}", unknown_tool(app, keeper)),
        ],
        redirect_slashes=False,
        default=nothing_here,
    )
    return Front(_by_path(exact, rest), _rules(app.settings.kernel, resources))


def _own_paths(app: App, keeper: Doorkeeper, health: Health) -> Mapping[str, ASGIApp]:
    handlers: dict[str, Handler] = {
        "/healthz": health.alive,
        "/readyz": health.ready,
        f"{API}/docs": docs_page(app),
        f"{API}/openapi.json": _openapi(app),
        f"{API}/tools": list_tools(app, keeper),
        DOWNLOAD: Downloads(app, keeper).answer,
    }
    if app.settings.kernel.metrics_enabled:
        metrics = Metrics(app)
        app.corridor.watchers.append(metrics)
        handlers["/metrics"] = MetricsDesk(app, keeper, health, metrics).answer
    return {path: Endpoint({"GET": handler}) for path, handler in handlers.items()}


def _home(app: App, annexes: Sequence[Annex]) -> Mapping[str, ASGIApp]:
    homes = [it.home for it in annexes if it.home]
    return {"/": Endpoint({"GET": homes[0] if homes else home_page(app)})}


def _openapi(app: App) -> Handler:
    settings = app.settings.kernel
    body = orjson.dumps(
        document(
            [*app.everything.tools.values()],
            server_url=settings.public_url or "/",
            needs_token=settings.mode == "server",
        )
    )

    async def answer(request: Request) -> Response:
        return Response(body, media_type="application/json")

    return answer


def _by_path(exact: Mapping[str, ASGIApp], rest: ASGIApp) -> ASGIApp:
    """Most paths are known to the letter: one look in a table, however many tools there are."""

    async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
        found = exact.get(scope["path"], rest) if scope["type"] == "http" else rest
        await found(scope, receive, send)

    return dispatch


def _rules(settings: KernelSettings, resources: Sequence[str]) -> Rules:
    longest_first = sorted(resources, key=len, reverse=True)

    def resource_of(path: str) -> str:
        fits = (it for it in longest_first if path == it or path.startswith(f"{it}/"))
        return next(fits, "")

    return Rules(
        names=Names.of(settings),
        trusted=settings.trusted_proxies,
        body=BodyLimits(settings.body_limit_bytes, BODY_IDLE_S, settings.request_timeout_s),
        public_url=settings.public_url,
        resource_of=resource_of,
    )
