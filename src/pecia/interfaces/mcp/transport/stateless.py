"""One request without a session, of either era: one exchange.

JSON, unless the handler sends notifications and the client accepts a stream.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import anyio
import orjson
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import modern_error_data, serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import MessageMetadata, ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import ProgressToken, RequestId
from starlette.requests import Request
from starlette.types import Send

from pecia.interfaces.mcp.protocol_version import is_modern
from pecia.interfaces.mcp.transport.disconnect import DisconnectWatch, DisconnectWatchers
from pecia.interfaces.mcp.transport.http_message import json_response

STREAM_HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
PING_COMMENT = b": ping\r\n\r\n"


@dataclass(slots=True)
class StatelessExchange:
    """What the SDK needs of a request, and where notifications go."""

    request: Request
    message: Mapping[str, Any]
    stream: "EventStream | None" = None
    """For notifications before the answer; None where the client accepts no stream."""
    can_send_request: bool = False

    @property
    def cancel_requested(self) -> anyio.Event:
        """Never set: here a client cancels by disconnecting."""
        return anyio.Event()

    @property
    def transport(self) -> TransportContext:
        return TransportContext(
            kind="streamable-http", can_send_request=False, headers=self.request.headers
        )

    @property
    def request_id(self) -> RequestId:
        return self.message["id"]

    @property
    def message_metadata(self) -> MessageMetadata:
        return ServerMessageMetadata(request_context=self.request)

    @property
    def progress_token(self) -> ProgressToken | None:
        return progress_token_from_params(self.message.get("params"))

    async def send_raw_request(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> dict[str, Any]:
        raise NoBackChannelError(method)

    async def notify(
        self, method: str, params: Mapping[str, Any] | None, opts: CallOptions | None = None
    ) -> None:
        if self.stream is not None:
            message = {"jsonrpc": "2.0", "method": method, "params": dict(params or {})}
            await self.stream.send(format_event(message))

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        if self.progress_token is None:
            return
        params = {"progressToken": self.progress_token, "progress": progress}
        extra = {"total": total, "message": message}
        known = {name: value for name, value in extra.items() if value is not None}
        await self.notify("notifications/progress", params | known)


class EventStream:
    """A response that becomes an event stream with the first event."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._send_lock: anyio.Lock | None = None
        self._is_closed = False

    @property
    def is_open(self) -> bool:
        """Whether an event was sent yet."""
        return self._send_lock is not None

    async def send(self, piece: bytes, *, last: bool = False) -> None:
        """Send one event or comment. After the last event it is dropped."""
        is_first = self._send_lock is None
        if self._send_lock is None:
            self._send_lock = anyio.Lock()
        # A handler may send from several tasks, and pings come from another one.
        async with self._send_lock:
            if self._is_closed:
                return
            self._is_closed = last
            if is_first:
                await self._send(
                    {"type": "http.response.start", "status": 200, "headers": STREAM_HEADERS}
                )
            await self._send({"type": "http.response.body", "body": piece, "more_body": not last})

    async def ping(self) -> None:
        """A comment as keepalive: proxies cut idle connections."""
        await self.send(PING_COMMENT)


async def handle_request(
    server: Server[Any], exchange: StatelessExchange, connection: Connection
) -> dict[str, Any]:
    """The JSON-RPC answer to a request."""
    message = exchange.message
    frame: dict[str, Any] = {"jsonrpc": "2.0", "id": message["id"]}
    try:
        frame["result"] = await serve_one(
            server,
            exchange,
            message["method"],
            message.get("params"),
            connection=connection,
            lifespan_state={},
        )
    except Exception as error:  # noqa: BLE001 - outermost; the SDK maps it.
        frame["error"] = modern_error_data(error).model_dump(exclude_none=True)
    return frame


async def respond(
    server: Server[Any],
    exchange: StatelessExchange,
    connection: Connection,
    send: Send,
    watchmen: DisconnectWatchers,
) -> None:
    """Answer over HTTP. The work is cancelled when the client disconnects."""
    request, stream = exchange.request, exchange.stream
    with DisconnectWatch(watchmen, request.receive, stream.ping if stream else None):
        frame = await handle_request(server, exchange, connection)
        if stream is not None and stream.is_open:
            await stream.send(format_event(frame), last=True)
            return
        status = _status(frame) if is_modern(connection.protocol_version) else 200
        await json_response(orjson.dumps(frame), status)(request.scope, request.receive, send)


def format_event(frame: Mapping[str, Any]) -> bytes:
    return b"event: message\r\ndata: " + orjson.dumps(frame) + b"\r\n\r\n"


def _status(frame: Mapping[str, Any]) -> int:
    """The HTTP status of an error in modern revisions."""
    return ERROR_CODE_HTTP_STATUS.get(frame["error"]["code"], 200) if "error" in frame else 200
