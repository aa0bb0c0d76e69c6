"""The last step of a request to a provider, and the only one that knows the key.

The libraries above are built without it. They can therefore not log it, store it, or put it into
an error; nor can headers that they find in the environment go out with it.
"""

import httpx2

from pecia.adapters.http.egress_rules import EgressTarget
from pecia.adapters.http.inflate import ACCEPTED
from pecia.kernel.errors import Forbidden, InvalidFormat

NO_KEY = "kept-by-the-transport"

_SENT = frozenset(
    {
        *("host", "accept", "content-type", "content-length", "transfer-encoding"),
        *("anthropic-version", "anthropic-beta"),
    }
)


def require_valid_key(key: str, *, field: str = "byok_key") -> str:
    """The key, where it can be a header. The error names the field and never shows the key."""
    if not key.isascii() or not key.isprintable() or " " in key:
        raise InvalidFormat("a key has no spaces and only printable ASCII letters", field=field)
    return key


class KeyedTransport(httpx2.AsyncBaseTransport):
    """Sends what a provider needs and the key, to one origin alone."""

    def __init__(
        self, inner: httpx2.AsyncBaseTransport, origin: EgressTarget, header: tuple[str, str] | None
    ) -> None:
        self._inner = inner
        self._origin = origin.url
        self._header = header

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        url, origin = request.url, self._origin
        if (url.scheme, url.host, url.port) != (origin.scheme, origin.host, origin.port):
            raise Forbidden("refused: the key goes to its provider alone", rule="origin")
        kept = {name: value for name, value in request.headers.items() if name in _SENT}
        kept |= {"user-agent": "pecia", "accept-encoding": ACCEPTED}
        if self._header is not None:
            kept[self._header[0]] = self._header[1]
        sent = httpx2.Request(
            request.method,
            request.url,
            headers=kept,
            stream=request.stream,
            extensions=request.extensions,
        )
        # An error that keeps the exchange keeps the request without the key.
        try:
            response = await self._inner.handle_async_request(sent)
        except httpx2.RequestError as error:
            error.request = request
            raise
        response.request = request
        return response

    async def aclose(self) -> None:
        await self._inner.aclose()
