"""One request of the older era that belongs to no session: asked and answered in one exchange.

JSON, unless the handler speaks before it is done and the client takes a stream.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import anyio
import orjson
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import modern_error_data, serve_one
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import MessageMetadata, ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import ProgressToken, RequestId
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Send

PING_S = 15.0
HEADERS = [
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]


@dataclass
class Exchange:
    """What the SDK needs to know of a request, and where notifications go."""

    request: Request
    message: Mapping[str, Any]
    sink: MemoryObjectSendStream[bytes] | None = None
    cancel_requested: anyio.Event = field(default_factory=anyio.Event)
    can_send_request: bool = False

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
        if self.sink is not None:
            said = {"jsonrpc": "2.0", "method": method, "params": dict(params or {})}
            await self.sink.send(_event(said))

    async def progress(
        self, progress: float, total: float | None = None, message: str | None = None
    ) -> None:
        if self.progress_token is None:
            return
        said = {"progressToken": self.progress_token, "progress": progress}
        extra = {"total": total, "message": message}
        known = {name: value for name, value in extra.items() if value is not None}
        await self.notify("notifications/progress", said | known)


async def answer(server: Server[Any], exchange: Exchange, version: str) -> dict[str, Any]:
    """The JSON-RPC answer to a request."""
    message = exchange.message
    connection = Connection.from_envelope(version, None, None)
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
    except Exception as error:  # noqa: BLE001 - the edge: the SDK says what may be told.
        frame["error"] = modern_error_data(error).model_dump(exclude_none=True)
    return frame


async def respond(
    server: Server[Any], exchange: Exchange, version: str, send: Send, *, may_stream: bool
) -> None:
    """Answer over HTTP. When the client goes away, the work stops."""
    request = exchange.request
    writer, reader = anyio.create_memory_object_stream[bytes]()
    exchange.sink = writer if may_stream else None
    frames: list[dict[str, Any]] = []

    async def work() -> None:
        async with writer:
            frames.append(await answer(server, exchange, version))

    async def watch() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass
        group.cancel_scope.cancel()

    async with reader, anyio.create_task_group() as group:
        group.start_soon(work)
        group.start_soon(watch)
        first = await _next(reader, PING_S if may_stream else None)
        if first is None:
            body = orjson.dumps(frames[0])
            await Response(body, media_type="application/json")(
                request.scope, request.receive, send
            )
        else:
            await send({"type": "http.response.start", "status": 200, "headers": HEADERS})
            while first is not None:
                await send({"type": "http.response.body", "body": first, "more_body": True})
                first = await _next(reader, PING_S)
            await send({"type": "http.response.body", "body": _event(frames[0])})
        group.cancel_scope.cancel()


async def _next(reader: MemoryObjectReceiveStream[bytes], limit_s: float | None) -> bytes | None:
    """The next event, or a comment that keeps the line open; None when the answer is there."""
    with anyio.move_on_after(limit_s):
        try:
            return await reader.receive()
        except anyio.EndOfStream:
            return None
    return b": ping\r\n\r\n"


def _event(frame: Mapping[str, Any]) -> bytes:
    return b"event: message\r\ndata: " + orjson.dumps(frame) + b"\r\n\r\n"
