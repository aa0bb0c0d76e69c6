"""An MCP server somewhere on the network: streams of messages over HTTP, under the guard.

It goes where the rules allow, follows no redirect to another origin, keeps no cookie, and sends a
server what is its own and nothing of whoever asked.
"""

import ssl
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

import httpx2
from mcp.client._transport import TransportStreams
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client

from pecia.adapters.http.guard import Guard
from pecia.adapters.http.transport import GuardedTransport

CONNECT_S = 10.0
# A stream of events stays open while nothing happens; who waits for an answer has an own clock.
SILENCE_S = 3_600.0
STREAM_BYTES = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Web:
    """Where hosts may be, and which authorities are believed beside the system's."""

    guard: Guard
    tls: ssl.SSLContext | None = None
    answer_bytes: int = 10_000_000


@dataclass(frozen=True, slots=True)
class Site:
    """One endpoint, and the headers that let us in."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    is_sse: bool = False


@asynccontextmanager
async def connected(site: Site, web: Web) -> AsyncGenerator[TransportStreams]:
    """The endpoint as streams of messages."""
    web.guard.rules.check(site.url)
    if site.is_sse:
        async with sse_client(
            site.url, dict(site.headers), CONNECT_S, SILENCE_S, _Clients(web)
        ) as streams:
            yield streams
        return
    timeout = httpx2.Timeout(CONNECT_S, read=SILENCE_S)
    async with (
        _Clients(web)(dict(site.headers), timeout) as client,
        streamable_http_client(
            site.url, http_client=client, max_sse_event_size=web.answer_bytes
        ) as streams,
    ):
        yield streams


@dataclass(frozen=True, slots=True)
class _Clients:
    """Makes the HTTP clients that the library asks for."""

    web: Web

    def __call__(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers=headers,
            timeout=timeout or httpx2.Timeout(CONNECT_S, read=SILENCE_S),
            auth=auth,
            transport=_Bounded(self.web),
            trust_env=False,
        )


class _Bounded(GuardedTransport):
    """An answer has its limit; a stream that is open for days has a wider one."""

    def __init__(self, web: Web) -> None:
        super().__init__(web.guard, tls=web.tls, max_bytes=web.answer_bytes)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            extensions: dict[str, Any] = {**request.extensions, "max_bytes": STREAM_BYTES}
            request.extensions = extensions
        return await super().handle_async_request(request)
