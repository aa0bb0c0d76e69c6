"""The transport of 2024-11-05: a stream of events, and a second path to post messages to."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import orjson
from mcp.server.sse import SseServerTransport
from mcp.shared.message import SessionMessage
from mcp.types import JSONRPCError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope, Send

from pecia.app.dispatch import operator_refusal
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.errors import HttpStatusError
from pecia.interfaces.http.request_info import get_request_info
from pecia.interfaces.mcp.errors import error_envelope
from pecia.interfaces.mcp.methods.tool_list import ToolListCache
from pecia.interfaces.mcp.request_context import McpAuthenticator, McpRequestContext
from pecia.interfaces.mcp.server import McpServices, make_server
from pecia.interfaces.mcp.transport.exchange import (
    NO_SDK_HOST_CHECK,
    error_response,
    replay_body,
    session_user,
)
from pecia.interfaces.mcp.transport.message import (
    RefusedBody,
    audit_malformed,
    find_request_id,
    get_request_id,
    read_body,
    read_message,
)
from pecia.interfaces.mcp.transport.session_manager import open_session
from pecia.interfaces.mcp.views.endpoints import McpEndpoint, messages_path
from pecia.kernel.errors import (
    InvalidInput,
    InvalidRequest,
    Json,
    MethodNotFound,
    NotFound,
    PayloadTooLarge,
    PeciaError,
)
from pecia.kernel.identity.caller import Operator

MAX_EVENT_BYTES = 900_000
"""The Python SDK ends a session at an event of 1 MiB."""

_SESSION = re.compile(rb"session_id=([0-9a-f]+)")


class SseEndpoint:
    """One endpoint of the SSE transport: the stream, and the path for messages."""

    def __init__(
        self, endpoint: McpEndpoint, services: McpServices, authenticator: HttpAuthenticator
    ) -> None:
        self.endpoint = endpoint
        self._dispatcher = services.app.dispatcher
        self._authenticator = McpAuthenticator(
            endpoint, services.app, services.views, authenticator
        )
        self._sessions = services.sessions
        self._server = make_server(endpoint, services, ToolListCache(endpoint))
        self._transport = SseServerTransport(
            messages_path(endpoint),
            security_settings=NO_SDK_HOST_CHECK,
            max_request_body_size=services.app.settings.kernel.body_limit_bytes,
        )
        self._open: dict[str, _OpenStream] = {}
        self.stream = _SingleMethodApp(self._stream, "GET")
        self.messages = _SingleMethodApp(self._message, "POST")

    async def _stream(self, request: Request, send: Send) -> None:
        here = await self._authenticate(request)
        options = self._server.create_initialization_options()
        self._sessions.count_handshake(here.quota_key)
        sender = _StreamSender(send)
        async with (
            open_session(self._sessions, here.quota_key),
            self._transport.connect_sse(request.scope, request.receive, sender) as (
                reader,
                writer,
            ),
        ):
            sender.on_session = lambda id_: self._open.update(
                {id_: _OpenStream(here.owner, writer)}
            )
            try:
                await self._server.run(reader, writer, options)
            finally:
                self._open.pop(sender.session_id, None)

    async def _message(self, request: Request, send: Send) -> None:
        here = await self._authenticate(request)
        try:
            body = await read_body(request)
        except RefusedBody as refused:
            await self._refuse(request, here, send, refused.refusal, refused.id)
            return
        try:
            found = read_message(self._dispatcher, here, body)
        except InvalidInput as refusal:
            await self._refuse(request, here, send, refusal, find_request_id(body))
            return
        if isinstance(found, list):
            raise InvalidRequest("the SSE transport has no batches", expected="object")
        audit_malformed(self._dispatcher, here, found)
        await self._transport.handle_post_message(
            request.scope,
            replay_body(request, body),
            _JsonRpcErrorSender(request, send, get_request_id(found)),
        )

    async def _refuse(
        self,
        request: Request,
        here: McpRequestContext,
        send: Send,
        refusal: PeciaError | HttpStatusError,
        id_: str | int | None,
    ) -> None:
        """Answer a refused request on the stream of its session, where clients wait for it: few
        look at what a post returns. Raises the refusal where there is no such stream."""
        stream = self._open.get(request.query_params.get("session_id", ""))
        if id_ is None or stream is None or stream.owner != here.owner:
            raise refusal
        error = refusal if isinstance(refusal, PeciaError) else refusal.error
        get_request_info(request.scope).log_line.fail(error)
        envelope = error_envelope(error, id_, modern=False)
        await stream.writer.send(SessionMessage(JSONRPCError.model_validate_json(envelope)))
        await Response("Accepted", 202)(request.scope, request.receive, send)

    async def _authenticate(self, request: Request) -> McpRequestContext:
        here = await self._authenticator.authenticate(request)
        if isinstance(here.caller, Operator):
            raise operator_refusal()
        request.scope["user"] = session_user(here)
        return here


class _SingleMethodApp:
    """An ASGI app for one method, with errors as JSON-RPC."""

    def __init__(self, serve: Any, method: str) -> None:
        self._serve = serve
        self._method = method

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            if request.method != self._method:
                raise HttpStatusError(
                    MethodNotFound(f"method not allowed; this path takes {self._method}"),
                    405,
                    {"allow": self._method},
                )
            await self._serve(request, send)
        except (PeciaError, HttpStatusError) as failure:
            await error_response(failure, request, None, modern=False)(scope, receive, send)


class _JsonRpcErrorSender:
    """A `send` that turns the SDK's plain-text errors into JSON-RPC errors."""

    def __init__(self, request: Request, send: Send, request_id: Json) -> None:
        self._request = request
        self._send = send
        self._id = request_id
        self._status = 0

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self._status = message["status"]
        if self._status < 400:
            await self._send(message)
        elif message["type"] == "http.response.body":
            text = message.get("body", b"").decode("utf-8", "replace")
            error = NotFound(text) if self._status == 404 else InvalidRequest(text)
            response = error_response(
                HttpStatusError(error, self._status), self._request, self._id, modern=False
            )
            await response(self._request.scope, self._request.receive, self._send)


@dataclass(frozen=True, slots=True)
class _OpenStream:
    owner: str
    writer: Any
    """Takes the messages of the server."""


class _StreamSender:
    """A `send` with headers that keep proxies from buffering events. It tells the session's id,
    which the SDK makes and writes into the first event, and refuses answers that are too long."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.session_id = ""
        self.on_session: Callable[[str], None] = lambda _: None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message["headers"], (b"x-accel-buffering", b"no")]
            message = {**message, "headers": headers}
        elif not self.session_id and (found := _SESSION.search(message.get("body", b""))):
            self.session_id = found[1].decode()
            self.on_session(self.session_id)
        elif len(body := message.get("body", b"")) > MAX_EVENT_BYTES:
            message = {**message, "body": _refuse_long_answer(body)}
        await self._send(message)


def _refuse_long_answer(event: bytes) -> bytes:
    """An error in the place of an answer that clients would end the session at."""
    found: Any = orjson.loads(event[event.index(b"data:") + 5 :])
    if "method" in found:
        return event
    error = PayloadTooLarge(
        f"the answer has {len(event)} bytes, and over SSE an answer has at most {MAX_EVENT_BYTES}",
        field="result",
        max=MAX_EVENT_BYTES,
        got=len(event),
        hint="Ask for less, or connect by streamable HTTP (/mcp), which has no such limit.",
    )
    envelope = error_envelope(error, found["id"], modern=False)
    return b"event: message\r\ndata: " + envelope + b"\r\n\r\n"
