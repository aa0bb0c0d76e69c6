"""A local Pecia that serves until its stdin ends: settings come in as JSON, the port goes out."""

import json
import socket
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, nullcontext

import anyio
import anyio.to_thread
import httpx2

from pecia.app.app import SETTINGS, open_app
from pecia.interfaces.cli.cipher.proxy import CipherProxy
from pecia.interfaces.http.server import LOOP_OPTIONS, serve_asgi, serve_http
from pecia.interfaces.mcp.mount import mount_mcp
from pecia.interfaces.web.console import mount_console
from pecia.kernel.identity import owner_token
from pecia.kernel.settings.load import Settings, load_settings
from tests.conftest import no_fetch


async def serve() -> None:
    flags = json.loads(sys.stdin.readline())
    has_front = flags.pop("front", "") == "1"
    on = listener(flags.pop("listen", "127.0.0.1"))
    settings = load_settings(SETTINGS, flags=flags, environ={}, project_file=None, user_file=None)
    async with (
        open_app(settings, fetch=no_fetch, report=lambda _: None) as app,
        serve_http(app, listener=on, mounts=[mount_mcp, mount_console], instance="test") as where,
        fronted(settings, where.url) if has_front else nullcontext(where.port) as port,
    ):
        sys.stdout.write(f"{port}\n")
        sys.stdout.flush()
        await anyio.to_thread.run_sync(sys.stdin.read)


def listener(address: str) -> socket.socket:
    """A socket on any free port; `::` takes both families."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.create_server((address, 0), family=family, dualstack_ipv6=address == "::")


@asynccontextmanager
async def fronted(settings: Settings, url: str) -> AsyncGenerator[int]:
    """The port that `pecia cipher` opens before a server, for clients that know no other."""
    token = owner_token.read(settings.kernel.home)
    headers = {"authorization": f"Bearer {token}"}
    async with httpx2.AsyncClient(trust_env=False) as client:
        front = CipherProxy(client, url, headers, settings.kernel)
        async with serve_asgi(front, settings.kernel, listener("127.0.0.1")) as where:
            yield where.port


if __name__ == "__main__":
    anyio.run(serve, backend_options=LOOP_OPTIONS)
