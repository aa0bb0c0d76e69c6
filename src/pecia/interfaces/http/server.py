"""Runs the HTTP interface in this process: a socket, uvicorn on it, a graceful shutdown."""

import asyncio
import gc
import math
import socket
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass

import anyio
import uvicorn
from starlette.types import ASGIApp

from pecia.app.app import App
from pecia.interfaces.http.activity import ActivityMonitor
from pecia.interfaces.http.app import BuildMount, build_http_app
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.protocol import GuardedProtocol
from pecia.kernel.errors import Conflict
from pecia.kernel.settings.kernel import KernelSettings

KEEP_ALIVE_S = 30
CANCEL_GRACE_S = 5.0
# GC threshold of generation 0. A call allocates some thousand objects: with Python's default of 700
# the collector takes 2 to 3 % of its time.
GC_THRESHOLDS = (10_000, 10, 10)

LOOP_OPTIONS = {"use_uvloop": True}
"""For `anyio.run(main, backend_options=LOOP)`: the loop is chosen by the program that runs it."""


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Where a server listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """How to reach it from this machine."""
        name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{name}]' if ':' in name else name}:{self.port}"


def freeze_gc() -> None:
    """Exempt all objects made so far from GC, and raise its thresholds. For a server process,
    once it is up.
    """
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


@asynccontextmanager
async def serve_http(  # noqa: PLR0913 - all but the first by name, and each with a default
    app: App,
    *,
    host: str | None = None,
    port: int | None = None,
    listener: socket.socket | None = None,
    mounts: Sequence[BuildMount] = (),
    instance: str = "",
    activity: ActivityMonitor | None = None,
) -> AsyncGenerator[ListenAddress]:
    """Serve inside the block. Leaving it ends streams on which clients only listen, and lets
    running calls finish, within a time limit.

    Host and port are those of the settings unless given; port 0 takes a free one. A `listener`
    that listens already is taken over, so that early clients only wait. Signals are the
    caller's business, and so is `run_maintenance`. `/healthz` reports `instance`; `activity`
    sees every request.
    """
    authenticator = HttpAuthenticator(app)
    built = [build(app, authenticator) for build in mounts]
    asgi = build_http_app(app, authenticator, built, instance=instance)
    if activity is not None:
        asgi = activity.wrap(asgi)
    async with AsyncExitStack() as stack:
        for mount in built:
            if mount.lifespan is not None:
                await stack.enter_async_context(mount.lifespan())
        settings = app.settings.kernel
        held = listener or stack.enter_context(
            _bind(settings.host if host is None else host, settings.port if port is None else port)
        )
        where = await stack.enter_async_context(serve_asgi(asgi, settings, held))
        try:
            yield where
        finally:
            for mount in built:
                if mount.on_shutdown is not None:
                    mount.on_shutdown()


@asynccontextmanager
async def serve_asgi(
    asgi: ASGIApp, settings: KernelSettings, listener: socket.socket
) -> AsyncGenerator[ListenAddress]:
    """Serve any ASGI app on a socket."""
    server = _UvicornServer(_config(asgi, settings))
    failure: Exception | None = None
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(server.serve, [listener])
        await server.is_up.wait()
        try:
            yield ListenAddress(*listener.getsockname()[:2])
        except Exception as error:  # noqa: BLE001 - raised below, outside of the group.
            failure = error
        finally:
            server.should_exit = True
    if failure is not None:
        # Raised as it was: a group would wrap it, and `except` by class would miss it.
        raise failure


class _UvicornServer(uvicorn.Server):
    """Uvicorn without signal handlers, with an event for readiness and a graceful shutdown."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = anyio.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        # Shielded: a cancellation means a graceful shutdown, which should_exit begins.
        with anyio.CancelScope(shield=True):
            await super().serve(sockets)
            await self._await_cancelled_tasks()

    async def _await_cancelled_tasks(self) -> None:
        """A cancelled call still writes its audit row; the store closes after us."""
        if left := {*self.server_state.tasks}:
            await asyncio.wait(left, timeout=CANCEL_GRACE_S)


def _config(asgi: ASGIApp, settings: KernelSettings) -> uvicorn.Config:
    return uvicorn.Config(
        asgi,
        http=GuardedProtocol,
        ws="websockets-sansio",
        ws_max_size=settings.body_limit_bytes,
        lifespan="off",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=math.ceil(settings.shutdown_grace_s),
    )


@contextmanager
def _bind(host: str, port: int) -> Generator[socket.socket]:
    """A listening socket of our own, so that the port is known before anything is served."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((host.strip("[]"), port))
        except OSError as error:
            raise Conflict(
                f"cannot listen on {host}:{port}: {error.strerror}", host=host, port=port
            ) from error
        yield listener
