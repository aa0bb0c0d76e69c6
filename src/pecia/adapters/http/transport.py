"""HTTP over the guard, for our own client and for any library that takes an httpx2 transport.

It never trusts the environment, never uses a proxy, never keeps a cookie, and never reads more
than its limit, compressed or not.
"""

import ssl
from collections.abc import AsyncIterator, Generator
from contextlib import aclosing, contextmanager
from functools import cache
from pathlib import Path
from typing import cast

import httpcore2
import httpx2

from pecia.adapters.http.guard import EgressGuard, GuardedBackend
from pecia.adapters.http.inflate import BoundedBody
from pecia.kernel.errors import InvalidFormat

MAX_BYTES = 32_000_000


class GuardedTransport(httpx2.AsyncBaseTransport):
    """Every request is checked against the rules, every connection goes where they were checked.

    A request may set its own limit in the extension `max_bytes`.
    """

    def __init__(
        self, guard: EgressGuard, *, tls: ssl.SSLContext | None = None, max_bytes: int = MAX_BYTES
    ) -> None:
        self._guard = guard
        self._max_bytes = max_bytes
        self._pool = httpcore2.AsyncConnectionPool(
            ssl_context=tls or _system_tls_context(),
            max_connections=100,
            max_keepalive_connections=20,
            keepalive_expiry=5,
            network_backend=GuardedBackend(guard),
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self._guard.rules.check(str(request.url))
        with _translate_errors(request):
            answer = await self._pool.handle_async_request(_to_wire(request))
        headers = httpx2.Headers(answer.headers)
        limit = cast(int, request.extensions.get("max_bytes", self._max_bytes))
        try:
            body = BoundedBody(headers.pop("content-encoding", ""), limit)
        except BaseException:
            await answer.aclose()
            raise
        # The length is that of the compressed body, which nobody above us will see.
        headers.pop("content-length", None)
        stream = _BoundedStream(answer, body, request)
        return httpx2.Response(answer.status, headers=headers, stream=stream, request=request)

    async def aclose(self) -> None:
        await self._pool.aclose()


def build_tls_context(authorities: Path) -> ssl.SSLContext:
    """What the system trusts, and these authorities as well."""
    context = httpx2.create_ssl_context(trust_env=False)
    try:
        context.load_verify_locations(cafile=str(authorities))
    except OSError as error:
        raise InvalidFormat(
            f"{authorities} is not a PEM file of certificates: {error}", field="authorities"
        ) from None
    return context


@cache
def _system_tls_context() -> ssl.SSLContext:
    # Reading the system's certificates takes longer than many a request.
    return httpx2.create_ssl_context(trust_env=False)


class _BoundedStream(httpx2.AsyncByteStream):
    def __init__(
        self, answer: httpcore2.Response, body: BoundedBody, request: httpx2.Request
    ) -> None:
        self._answer = answer
        self._body = body
        self._request = request

    async def __aiter__(self) -> AsyncIterator[bytes]:
        with _translate_errors(self._request):
            async with aclosing(self._answer.aiter_stream()) as arriving:
                async for data in arriving:
                    for piece in self._body.feed(data):
                        yield piece
        self._body.finish()

    async def aclose(self) -> None:
        await self._answer.aclose()


def _to_wire(request: httpx2.Request) -> httpcore2.Request:
    url = request.url
    return httpcore2.Request(
        method=request.method,
        url=httpcore2.URL(
            scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path
        ),
        headers=request.headers.raw,
        content=request.stream,
        extensions={"timeout": request.extensions.get("timeout", {})},
    )


@contextmanager
def _translate_errors(request: httpx2.Request) -> Generator[None]:
    """The pool's failures, as the failures an httpx2 client expects from a transport."""
    try:
        yield
    except tuple(_ERROR_TYPES) as error:
        twin = next(twin for theirs, twin in _ERROR_TYPES.items() if isinstance(error, theirs))
        raise twin(str(error), request=request) from None


# Narrow ones first: the first that fits is taken.
_ERROR_TYPES: dict[type[Exception], type[httpx2.TransportError]] = {
    httpcore2.ConnectTimeout: httpx2.ConnectTimeout,
    httpcore2.ReadTimeout: httpx2.ReadTimeout,
    httpcore2.WriteTimeout: httpx2.WriteTimeout,
    httpcore2.PoolTimeout: httpx2.PoolTimeout,
    httpcore2.ConnectError: httpx2.ConnectError,
    httpcore2.ReadError: httpx2.ReadError,
    httpcore2.WriteError: httpx2.WriteError,
    httpcore2.NetworkError: httpx2.NetworkError,
    httpcore2.UnsupportedProtocol: httpx2.UnsupportedProtocol,
    httpcore2.LocalProtocolError: httpx2.LocalProtocolError,
    httpcore2.RemoteProtocolError: httpx2.RemoteProtocolError,
}
