"""The headers of every response."""

from starlette.types import Message, Send

from pecia.interfaces.http.middleware.body_limit import LimitedBody

DEFAULT_HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"cache-control", b"no-store"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"referrer-policy", b"no-referrer"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
)
"""Strict by default: a page that needs more sets a header of its own."""

START_MESSAGES = frozenset(
    ("http.response.start", "websocket.http.response.start", "websocket.accept")
)


class ResponseSender:
    """A `send` that completes the headers, and keeps the status for the log."""

    def __init__(self, send: Send, request_id: str, body: LimitedBody) -> None:
        self._send = send
        self._body = body
        self.extra_headers: list[tuple[bytes, bytes]] = [(b"x-request-id", request_id.encode())]
        self.status: int | None = None
        self._closes = False

    async def __call__(self, message: Message) -> None:
        if message["type"] in START_MESSAGES:
            await self._send(self._complete_headers(message))
        elif self._closes and not message.get("more_body", False):
            await self._send({**message, "more_body": True})
            await self._body.drain()
            await self._send({"type": message["type"], "body": b"", "more_body": False})
        else:
            await self._send(message)

    def _complete_headers(self, message: Message) -> Message:
        self.status = message.get("status", 101)
        headers: list[tuple[bytes, bytes]] = [*message.get("headers", ())]
        if message["type"] == "websocket.accept":
            return {**message, "headers": [*headers, *self.extra_headers]}
        self._closes = (b"connection", b"close") in headers
        names = {name.lower() for name, _ in headers}
        defaults = [it for it in DEFAULT_HEADERS if it[0] not in names]
        return {**message, "headers": [*headers, *defaults, *self.extra_headers]}
