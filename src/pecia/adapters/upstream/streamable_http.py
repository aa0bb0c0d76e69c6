"""An upstream MCP server over streamable HTTP, behind the egress guard.

It follows no redirect to another origin, keeps no cookie, and sends a server its own credentials
and nothing of the caller's.
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

from pecia.adapters.http.guard import EgressGuard
from pecia.adapters.http.transport import GuardedTransport

CONNECT_TIMEOUT_S = 10.0
# An event stream stays open while idle; each request has its own timeout.
READ_TIMEOUT_S = 3_600.0
MAX_STREAM_BYTES = 1_000_000_000


@dataclass(frozen=True, slots=True)
class HttpTransportOptions:
    """Egress rules, and trusted CAs beside the system's."""

    guard: EgressGuard
    tls: ssl.SSLContext | None = None
    answer_bytes: int = 10_000_000


@dataclass(frozen=True, slots=True)
class McpHttpEndpoint:
    """One endpoint, and its authentication headers."""

    url: str
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    is_sse: bool = False


@asynccontextmanager
async def open_http(
    site: McpHttpEndpoint, web: HttpTransportOptions
) -> AsyncGenerator[TransportStreams]:
    """The endpoint as streams of messages."""
    web.guard.rules.check(site.url)
    if site.is_sse:
        async with sse_client(
            site.url, dict(site.headers), CONNECT_TIMEOUT_S, READ_TIMEOUT_S, _ClientFactory(web)
        ) as streams:
            yield streams
        return
    timeout = httpx2.Timeout(CONNECT_TIMEOUT_S, read=READ_TIMEOUT_S)
    async with (
        _ClientFactory(web)(dict(site.headers), timeout) as client,
        streamable_http_client(
            site.url, http_client=client, max_sse_event_size=web.answer_bytes
        ) as streams,
    ):
        yield streams


@dataclass(frozen=True, slots=True)
class _ClientFactory:
    """The HTTP client factory for the SDK."""

    web: HttpTransportOptions

    def __call__(
        self,
        headers: dict[str, str] | None = None,
        timeout: httpx2.Timeout | None = None,
        auth: httpx2.Auth | None = None,
    ) -> httpx2.AsyncClient:
        return httpx2.AsyncClient(
            headers=headers,
            timeout=timeout or httpx2.Timeout(CONNECT_TIMEOUT_S, read=READ_TIMEOUT_S),
            auth=auth,
            transport=_BoundedTransport(self.web),
            trust_env=False,
        )


class _BoundedTransport(GuardedTransport):
    """A response has a size limit; a long-lived stream has a wider one."""

    def __init__(self, web: HttpTransportOptions) -> None:
        super().__init__(web.guard, tls=web.tls, max_bytes=web.answer_bytes)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        if request.method == "GET":
            extensions: dict[str, Any] = {**request.extensions, "max_bytes": MAX_STREAM_BYTES}
            request.extensions = extensions
        return await super().handle_async_request(request)
