"""Pages and files from the web, under the guard, a size limit and one deadline for everything.

It reads only: GET and HEAD. It keeps no cookie and follows a redirect only after checking it anew.
"""

import ssl
from collections.abc import AsyncGenerator, AsyncIterator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import Literal, Self

import anyio
import httpx2

from pecia.adapters.http.guard import EgressGuard
from pecia.adapters.http.inflate import ACCEPTED
from pecia.adapters.http.response import FetchResponse, HttpFetchLimits
from pecia.adapters.http.transport import GuardedTransport
from pecia.kernel.errors import Timeout, UpstreamError

_REDIRECTS = frozenset({301, 302, 303, 307, 308})


@dataclass(frozen=True, slots=True)
class StreamedResponse:
    """An answer whose body is still arriving."""

    url: str
    status: int
    headers: Mapping[str, str]
    hops: tuple[str, ...]
    _response: httpx2.Response = field(repr=False)
    _clock: "_Deadline" = field(repr=False)

    async def chunks(self) -> AsyncIterator[bytes]:
        """The plain body, bounded in size and time."""
        arriving = self._response.aiter_raw()
        while True:
            with self._clock.waiting(self._response.request.url):
                chunk = await anext(arriving, None)
            if chunk is None:
                return
            yield chunk


class Fetcher:
    """Fetches over one pool of connections. Use it as an async context manager."""

    def __init__(
        self, guard: EgressGuard, *, user_agent: str = "pecia", tls: ssl.SSLContext | None = None
    ) -> None:
        self._guard = guard
        self._transport = GuardedTransport(guard, tls=tls)
        self._own_headers = {"user-agent": user_agent, "accept": "*/*", "accept-encoding": ACCEPTED}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self._transport.aclose()

    async def fetch(
        self,
        url: str,
        *,
        method: Literal["GET", "HEAD"] = "GET",
        headers: Mapping[str, str] | None = None,
        limits: HttpFetchLimits | None = None,
    ) -> FetchResponse:
        """The whole answer, in memory."""
        async with self.open(url, method=method, headers=headers, limits=limits) as incoming:
            body = b"".join([chunk async for chunk in incoming.chunks()])
        return FetchResponse(incoming.url, incoming.status, incoming.headers, body, incoming.hops)

    @asynccontextmanager
    async def open(
        self,
        url: str,
        *,
        method: Literal["GET", "HEAD"] = "GET",
        headers: Mapping[str, str] | None = None,
        limits: HttpFetchLimits | None = None,
    ) -> AsyncGenerator[StreamedResponse]:
        """The answer after all redirects, its body to be read in chunks.

        `headers` go only to the origin that was asked for, so that no token follows a redirect.
        """
        bounds = limits or HttpFetchLimits()
        clock = _Deadline(bounds.timeout_s, anyio.current_time() + bounds.timeout_s)
        ask = _FetchRequest(method, self._own_headers | _lower_names(headers or {}), bounds, clock)
        response, hops = await self._follow(url, ask)
        try:
            final = str(response.request.url)
            yield StreamedResponse(
                final, response.status_code, response.headers, hops, response, clock
            )
        finally:
            with anyio.CancelScope(shield=True):
                await response.aclose()

    async def _follow(
        self, url: str, ask: "_FetchRequest"
    ) -> tuple[httpx2.Response, tuple[str, ...]]:
        hops: list[str] = []
        first = here = self._guard.rules.check(url).url
        while True:
            headers = ask.headers if _same_origin(first, here) else self._own_headers
            response = await self._send(here, headers, ask)
            following = response.headers.get("location")
            if response.status_code not in _REDIRECTS or following is None:
                return response, tuple(hops)
            await response.aclose()
            if len(hops) == ask.limits.hops:
                raise UpstreamError(
                    f"more than {ask.limits.hops} redirects", rule="redirects", host=here.host
                )
            hops.append(str(here))
            here = self._guard.rules.check(_join_url(here, following)).url

    async def _send(
        self, url: httpx2.URL, headers: Mapping[str, str], ask: "_FetchRequest"
    ) -> httpx2.Response:
        request = httpx2.Request(
            ask.method,
            url,
            headers=headers,
            extensions={
                "timeout": {"connect": ask.limits.connect_s},
                "max_bytes": ask.limits.max_bytes,
            },
        )
        with ask.clock.waiting(url):
            return await self._transport.handle_async_request(request)


@dataclass(frozen=True, slots=True)
class _Deadline:
    """The one deadline. It bounds our waits, never the code that consumes the body."""

    timeout_s: float
    deadline: float

    @contextmanager
    def waiting(self, url: httpx2.URL) -> Generator[None]:
        try:
            with anyio.fail_after(self.deadline - anyio.current_time()):
                yield
        except (TimeoutError, httpx2.TimeoutException):
            raise Timeout(
                f"{url.host!r} did not answer in time", timeout_s=self.timeout_s, host=url.host
            ) from None
        except httpx2.TransportError as error:
            raise UpstreamError(f"{url.host!r} failed: {error}", host=url.host) from None


@dataclass(frozen=True, slots=True)
class _FetchRequest:
    method: str
    headers: Mapping[str, str]
    limits: HttpFetchLimits
    clock: _Deadline


def _lower_names(headers: Mapping[str, str]) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _same_origin(one: httpx2.URL, other: httpx2.URL) -> bool:
    return (one.scheme, one.raw_host, one.port) == (other.scheme, other.raw_host, other.port)


def _join_url(here: httpx2.URL, location: str) -> str:
    try:
        return str(here.join(location))
    except httpx2.InvalidURL as error:
        raise UpstreamError(f"the redirect is not a URL: {error}", host=here.host) from None
