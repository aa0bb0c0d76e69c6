"""Runs the HTTP door in this process: a socket, uvicorn on it, and an orderly end."""

import math
import socket
from collections.abc import AsyncGenerator, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import anyio
import uvicorn
from starlette.types import ASGIApp

from pecia.app.app import App
from pecia.doors.http.app import Annex, http_app
from pecia.doors.http.visit import Doorkeeper
from pecia.kernel.errors import Conflict
from pecia.kernel.settings.kernel import KernelSettings

KEEP_ALIVE_S = 30
AFTER_CANCEL_S = 5.0

LOOP = {"use_uvloop": True}
"""For `anyio.run(main, backend_options=LOOP)`: the loop belongs to whoever runs the program."""


@dataclass(frozen=True, slots=True)
class Address:
    """Where a server listens."""

    host: str
    port: int

    @property
    def url(self) -> str:
        """How to reach it from this machine."""
        name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(self.host, self.host)
        return f"http://{f'[{name}]' if ':' in name else name}:{self.port}"


@asynccontextmanager
async def serving(
    app: App,
    *,
    host: str | None = None,
    port: int | None = None,
    annexes: Sequence[Annex] = (),
    instance: str = "",
) -> AsyncGenerator[Address]:
    """Requests are answered inside the block. Leaving it lets running calls finish, in time.

    Host and port are those of the settings unless given; port 0 takes a free one. Signals are
    the caller's business, and so is `keep_house`.
    """
    settings = app.settings.kernel
    asgi = http_app(app, Doorkeeper(app), annexes, instance=instance)
    with _bound(settings.host if host is None else host, port if port is not None else settings.port) as listener:
        server = _Server(_config(asgi, settings))
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve, [listener])
            await server.is_up.wait()
            try:
                yield Address(*listener.getsockname()[:2])
            finally:
                with anyio.CancelScope(shield=True):
                    server.should_exit = True
                    await server.is_down.wait()


class _Server(uvicorn.Server):
    """Uvicorn that leaves signals alone and says when it is up and when it is down."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.is_up = anyio.Event()
        self.is_down = anyio.Event()

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.is_up.set()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        try:
            with anyio.CancelScope(shield=True):
                await super().serve(sockets)
                await self._let_the_cancelled_end()
        finally:
            self.is_down.set()

    async def _let_the_cancelled_end(self) -> None:
        """A call that was cut off still writes its audit row; the store closes after us."""
        with anyio.move_on_after(AFTER_CANCEL_S):
            while self.server_state.tasks:
                await anyio.sleep(0.01)


def _config(asgi: ASGIApp, settings: KernelSettings) -> uvicorn.Config:
    return uvicorn.Config(
        asgi,
        http="httptools",
        ws="websockets-sansio",
        ws_max_size=settings.body_limit_bytes,
        lifespan="on",
        log_config=None,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=math.ceil(settings.shutdown_grace_s),
    )


@contextmanager
def _bound(host: str, port: int) -> Generator[socket.socket]:
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
