"""Runs the HTTP door in this process: a socket, uvicorn on it, and an orderly end."""

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
from pecia.interfaces.http.app import BuildMount, build_http_app
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.protocol import GuardedProtocol
from pecia.kernel.errors import Conflict
from pecia.kernel.settings.kernel import KernelSettings

KEEP_ALIVE_S = 30
CANCEL_GRACE_S = 5.0
# How many objects are made between two looks for those that only refer to each other. A call makes
# some thousand: with Python's own 700 the looks take 2 to 3 % of its time.
GC_THRESHOLDS = (10_000, 10, 10)

LOOP_OPTIONS = {"use_uvloop": True}
"""For `anyio.run(main, backend_options=LOOP)`: the loop belongs to whoever runs the program."""


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
    """Say that what was made up to now stays: the collector need not look at it again. For the
    program of a server, once it is up.
    """
    gc.freeze()
    gc.set_threshold(*GC_THRESHOLDS)


@asynccontextmanager
async def serve_http(
    app: App,
    *,
    host: str | None = None,
    port: int | None = None,
    listener: socket.socket | None = None,
    annexes: Sequence[BuildMount] = (),
    instance: str = "",
) -> AsyncGenerator[ListenAddress]:
    """Requests are answered inside the block. Leaving it lets running calls finish, in time.

    Host and port are those of the settings unless given; port 0 takes a free one. A `listener`
    that listens already is taken over, so that who came early only waits. Signals are the
    caller's business, and so is `keep_house`. `instance` is what `/healthz` answers to.
    """
    keeper = HttpAuthenticator(app)
    built = [build(app, keeper) for build in annexes]
    asgi = build_http_app(app, keeper, built, instance=instance)
    async with AsyncExitStack() as stack:
        for annex in built:
            if annex.lifespan is not None:
                await stack.enter_async_context(annex.lifespan())
        settings = app.settings.kernel
        held = listener or stack.enter_context(
            _bind(settings.host if host is None else host, settings.port if port is None else port)
        )
        where = await stack.enter_async_context(serve_asgi(asgi, settings, held))
        try:
            yield where
        finally:
            for annex in built:
                if annex.on_shutdown is not None:
                    annex.on_shutdown()


@asynccontextmanager
async def serve_asgi(
    asgi: ASGIApp, settings: KernelSettings, listener: socket.socket
) -> AsyncGenerator[ListenAddress]:
    """Any ASGI app on a socket of ours."""
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
        # As it was: a group would wrap it, and nobody could catch it by its name.
        raise failure


class _UvicornServer(uvicorn.Server):
    """Uvicorn that leaves signals alone, says when it is up, and ends in its own time."""

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
        # Shielded: whoever cancels us wants an end, not an accident. It comes by should_exit.
        with anyio.CancelScope(shield=True):
            await super().serve(sockets)
            await self._await_cancelled_tasks()

    async def _await_cancelled_tasks(self) -> None:
        """A call that was cut off still writes its audit row; the store closes after us."""
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
