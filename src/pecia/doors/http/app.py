"""The HTTP door as one ASGI app, put together from an open App. It starts nothing."""

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from starlette.routing import BaseRoute, Route, Router
from starlette.types import ASGIApp, Receive, Scope, Send

from pecia.app.app import App
from pecia.doors.http.body import BodyLimits
from pecia.doors.http.endpoint import Endpoint, nothing_here
from pecia.doors.http.front import Front, Rules
from pecia.doors.http.health import Health
from pecia.doors.http.names import Names
from pecia.doors.http.tools import API, tool_paths, unknown_tool
from pecia.doors.http.visit import Doorkeeper

BODY_IDLE_S = 10.0


@dataclass(frozen=True, slots=True)
class Annex:
    """What another door hangs into this one: its routes, and what runs while they are served."""

    routes: tuple[BaseRoute, ...]
    resources: tuple[str, ...] = ()
    """Paths of its own that are protected resources, each with metadata of its own."""
    running: Callable[[], AbstractAsyncContextManager[None]] | None = None


def http_app(
    app: App, keeper: Doorkeeper, annexes: Sequence[Annex] = (), *, instance: str = ""
) -> ASGIApp:
    """Everything that is served over HTTP."""
    health = Health(app, instance)
    exact: dict[str, ASGIApp] = {
        "/healthz": Endpoint({"GET": health.alive}),
        **tool_paths(app, keeper),
    }
    routes = [
        Route(f"{API}/{{room}}/{{tool}}", unknown_tool(app, keeper)),
        *(it for annex in annexes for it in annex.routes),
    ]
    rest = Router(routes, redirect_slashes=False, default=nothing_here, lifespan=_running(annexes))
    return Front(_by_path(exact, rest), _rules(app, annexes))


def _by_path(exact: Mapping[str, ASGIApp], rest: ASGIApp) -> ASGIApp:
    """Most paths are known to the letter: one look in a table, however many tools there are."""

    async def dispatch(scope: Scope, receive: Receive, send: Send) -> None:
        found = exact.get(scope["path"], rest) if scope["type"] == "http" else rest
        await found(scope, receive, send)

    return dispatch


def _running(annexes: Sequence[Annex]) -> Callable[[Any], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(_: Any) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for annex in annexes:
                if annex.running is not None:
                    await stack.enter_async_context(annex.running())
            yield

    return lifespan


def _rules(app: App, annexes: Sequence[Annex]) -> Rules:
    settings = app.settings.kernel
    resources = sorted({API, *(it for annex in annexes for it in annex.resources)}, key=len)

    def resource_of(path: str) -> str:
        fits = [it for it in resources if path == it or path.startswith(f"{it}/")]
        return fits[-1] if fits else ""

    return Rules(
        names=Names.of(settings),
        trusted=settings.trusted_proxies,
        body=BodyLimits(settings.body_limit_bytes, BODY_IDLE_S, settings.request_timeout_s),
        public_url=settings.public_url,
        resource_of=resource_of,
    )
