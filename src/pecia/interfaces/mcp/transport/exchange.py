"""Outbound: the answer to one HTTP request, as JSON, as an event stream or as an error.

Without a session, one request is one exchange: JSON, unless the handler sends notifications and the
client accepts a stream. The work of a client that disconnected is cancelled, and one that waits is
pinged. Most calls are done before that: they cost a timer and nothing else.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import anyio
import orjson
from anyio.abc import TaskGroup
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.connection import Connection
from mcp.server.lowlevel import Server
from mcp.server.runner import modern_error_data, serve_one
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.dispatcher import CallOptions
from mcp.shared.exceptions import NoBackChannelError
from mcp.shared.inbound import ERROR_CODE_HTTP_STATUS
from mcp.shared.jsonrpc_dispatcher import progress_token_from_params
from mcp.shared.message import MessageMetadata, ServerMessageMetadata
from mcp.shared.transport_context import TransportContext
from mcp_types import ProgressToken, RequestId
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from pecia.interfaces.http.auth.challenge import challenge_headers
from pecia.interfaces.http.errors import HttpStatusError, retry_after_headers
from pecia.interfaces.http.request_info import get_request_info
from pecia.interfaces.mcp.errors import ProtocolRejection, error_envelope
from pecia.interfaces.mcp.request_context import McpRequestContext, is_modern
from pecia.interfaces.mcp.transport.message import EVENT_STREAM, JSON
from pecia.kernel.errors import Json, PeciaError
from pecia.kernel.identity.caller import Caller

STREAM_HEADERS = [
    (b"content-type", EVENT_STREAM.encode()),
    (b"cache-control", b"no-cache, no-transform"),
    (b"x-accel-buffering", b"no"),
]
PING_COMMENT = b": ping\r\n\r\n"

WATCH_DELAY_S = 0.05
"""How long a call may take before its connection is watched."""
PING_INTERVAL_S = 15.0

# The edge middleware checks Host and Origin, more strictly.
NO_SDK_HOST_CHECK = TransportSecuritySettings(enable_dns_rebinding_protection=False)


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


class DisconnectWatchers:
    """The watcher tasks of long calls, in one task group."""

    def __init__(self) -> None:
        self.group: TaskGroup | None = None

    @asynccontextmanager
    async def run(self) -> AsyncGenerator[None]:
        async with anyio.create_task_group() as self.group:
            yield
            self.group.cancel_scope.cancel()


class DisconnectWatch:
    """A block that is cancelled as soon as its client disconnects."""

    def __init__(
        self,
        watchers: DisconnectWatchers,
        receive: Receive,
        ping: Callable[[], Awaitable[None]] | None,
    ) -> None:
        self._watchers = watchers
        self._receive = receive
        self._ping = ping
        self._work = anyio.CancelScope()
        self._watching: anyio.CancelScope | None = None

    def __enter__(self) -> None:
        self._work.__enter__()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(WATCH_DELAY_S, self._start_watch)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> bool | None:
        self._timer.cancel()
        if self._watching is not None:
            self._watching.cancel()
        return self._work.__exit__(kind, error, trace)

    def _start_watch(self) -> None:
        assert self._watchers.group is not None
        self._watching = anyio.CancelScope()
        self._watchers.group.start_soon(self._watch, self._watching)

    async def _watch(self, scope: anyio.CancelScope) -> None:
        with scope:
            async with anyio.create_task_group() as tasks:
                if self._ping is not None:
                    tasks.start_soon(self._ping_loop, self._ping)
                while (await self._receive())["type"] != "http.disconnect":
                    pass
                self._work.cancel()
                tasks.cancel_scope.cancel()

    async def _ping_loop(self, ping: Callable[[], Awaitable[None]]) -> None:
        while True:
            await anyio.sleep(PING_INTERVAL_S)
            await ping()


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
    watchers: DisconnectWatchers,
) -> None:
    """Answer over HTTP. The work is cancelled when the client disconnects."""
    request, stream = exchange.request, exchange.stream
    with DisconnectWatch(watchers, request.receive, stream.ping if stream else None):
        frame = await handle_request(server, exchange, connection)
        if stream is not None and stream.is_open:
            await stream.send(format_event(frame), last=True)
            return
        status = _status(frame) if is_modern(connection.protocol_version) else 200
        await json_response(orjson.dumps(frame), status)(request.scope, request.receive, send)


def format_event(frame: Mapping[str, Any]) -> bytes:
    return b"event: message\r\ndata: " + orjson.dumps(frame) + b"\r\n\r\n"


def error_response(
    failure: PeciaError | HttpStatusError | ProtocolRejection,
    request: Request,
    request_id: Json,
    *,
    modern: bool,
) -> Response:
    """An error as JSON-RPC, with its HTTP status and challenge."""
    error = failure if isinstance(failure, PeciaError) else failure.error
    status = failure.status if isinstance(failure, HttpStatusError) else error.code.http
    headers = dict(failure.headers) if isinstance(failure, HttpStatusError) else {}
    headers |= challenge_headers(error, request)
    headers |= retry_after_headers(error)
    get_request_info(request.scope).log_line.fail(error)
    shown = failure if isinstance(failure, ProtocolRejection) else error
    return json_response(error_envelope(shown, request_id, modern=modern), status, headers)


def json_response(
    body: bytes, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    return Response(body, status, headers, media_type=JSON)


def with_full_accept(scope: Scope) -> Scope:
    """The scope with both types in Accept, which the SDK requires."""
    others = [it for it in scope["headers"] if it[0] != b"accept"]
    return {**scope, "headers": [*others, (b"accept", f"{JSON}, {EVENT_STREAM}".encode())]}


def without_last_event_id(scope: Scope) -> Scope:
    """The scope without Last-Event-ID: no events are kept, and the SDK would not answer."""
    kept = [it for it in scope["headers"] if it[0] != b"last-event-id"]
    return {**scope, "headers": kept}


def replay_body(request: Request, body: bytes) -> Receive:
    """A `receive` that replays the body, then continues with the real one."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return waiting.pop() if waiting else await request.receive()

    return receive


def session_user(here: McpRequestContext) -> AuthenticatedUser:
    """The session's user for the SDK's check: the owner, not the token, which may be renewed."""
    client = here.caller.tenant if isinstance(here.caller, Caller) else "operator"
    token = AccessToken(token="", client_id=client, scopes=[], subject=here.owner)
    return AuthenticatedUser(token)


def _status(frame: Mapping[str, Any]) -> int:
    """The HTTP status of an error in modern revisions."""
    return ERROR_CODE_HTTP_STATUS.get(frame["error"]["code"], 200) if "error" in frame else 200
