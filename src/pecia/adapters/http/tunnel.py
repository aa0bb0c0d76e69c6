"""A way out for a library that opens its own sockets: a CONNECT proxy for one host, guarded.

The library speaks TLS with the host end to end. Where its bytes go is decided here, so that no
name that changes its answer, and no redirect, can send them elsewhere.
"""

from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass

import anyio
from anyio.abc import ByteStream, SocketAttribute

from pecia.adapters.http.address import Address
from pecia.adapters.http.egress_rules import EgressTarget
from pecia.adapters.http.guard import EgressGuard

_HEAD_BYTES = 8_192
_CONNECT_S = 10


@dataclass
class Tunnel:
    """An open tunnel. `overrun` says that more came back than was allowed."""

    url: str
    overrun: bool = False


@asynccontextmanager
async def open_tunnel(
    guard: EgressGuard, target: EgressTarget, *, max_bytes: int
) -> AsyncGenerator[Tunnel]:
    """A proxy on loopback that leads to this host and port alone, closed with the block."""
    addresses = await guard.addresses(target.host, target.port)
    listener = await anyio.create_tcp_listener(local_host="127.0.0.1")
    opened = Tunnel(f"http://127.0.0.1:{listener.extra(SocketAttribute.local_port)}")
    line = _TunnelConnection(opened, target, addresses, max_bytes)
    async with listener, anyio.create_task_group() as group:
        group.start_soon(listener.serve, line.relay)
        yield opened
        group.cancel_scope.cancel()


@dataclass
class _TunnelConnection:
    tunnel: Tunnel
    target: EgressTarget
    addresses: Sequence[Address]
    left_bytes: int

    async def relay(self, client: ByteStream) -> None:
        async with client:
            try:
                server = await self._connect(client)
                async with server, anyio.create_task_group() as group:
                    group.start_soon(self._relay_upstream, client, server)
                    await self._relay_downstream(server, client)
                    group.cancel_scope.cancel()
            except (OSError, TimeoutError, anyio.BrokenResourceError, anyio.EndOfStream):
                # Either side went away. The library on our side sees its connection end.
                return

    async def _connect(self, client: ByteStream) -> ByteStream:
        with anyio.fail_after(_CONNECT_S):
            if await _asked_for(client) != self._authority():
                await client.send(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
                raise anyio.EndOfStream
            server = await self._first_open()
            await client.send(b"HTTP/1.1 200 Connection established\r\n\r\n")
        return server

    async def _first_open(self) -> ByteStream:
        for address in self.addresses[:-1]:
            try:
                return await anyio.connect_tcp(str(address), self.target.port)
            except OSError:
                continue
        return await anyio.connect_tcp(str(self.addresses[-1]), self.target.port)

    async def _relay_upstream(self, client: ByteStream, server: ByteStream) -> None:
        try:
            async for data in client:
                await server.send(data)
        except anyio.BrokenResourceError:
            return

    async def _relay_downstream(self, server: ByteStream, client: ByteStream) -> None:
        async for data in server:
            self.left_bytes -= len(data)
            if self.left_bytes < 0:
                self.tunnel.overrun = True
                return
            await client.send(data)

    def _authority(self) -> str:
        host = self.target.host
        return f"[{host}]:{self.target.port}" if ":" in host else f"{host}:{self.target.port}"


async def _asked_for(client: ByteStream) -> str:
    head = b""
    while b"\r\n\r\n" not in head and len(head) < _HEAD_BYTES:
        head += await client.receive()
    method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
    return rest.partition(" ")[0].lower() if method == "CONNECT" else ""
