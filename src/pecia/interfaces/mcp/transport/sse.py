"""The transport of 2024-11-05: a stream of events, and a second path to post messages to."""

from typing import Any

from mcp.server.sse import SseServerTransport
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.errors import HttpStatusError
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
    audit_malformed,
    get_request_id,
    read_body,
    read_message,
)
from pecia.interfaces.mcp.transport.session_manager import open_session
from pecia.interfaces.mcp.views.endpoints import McpEndpoint, messages_path
from pecia.kernel.errors import (
    Forbidden,
    InvalidRequest,
    Json,
    MethodNotFound,
    NotFound,
    PeciaError,
)
from pecia.kernel.identity.caller import Operator


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
        self.stream = _SingleMethodApp(self._stream, "GET")
        self.messages = _SingleMethodApp(self._message, "POST")

    async def _stream(self, request: Request, send: Send) -> None:
        here = await self._authenticate(request)
        options = self._server.create_initialization_options()
        self._sessions.count_handshake(here.quota_key)
        async with (
            open_session(self._sessions, here.quota_key),
            self._transport.connect_sse(
                request.scope, request.receive, _disable_buffering(send)
            ) as (
                reader,
                writer,
            ),
        ):
            await self._server.run(reader, writer, options)

    async def _message(self, request: Request, send: Send) -> None:
        here = await self._authenticate(request)
        body = await read_body(request)
        found = read_message(self._dispatcher, here, body)
        if isinstance(found, list):
            raise InvalidRequest("the SSE transport has no batches", expected="object")
        audit_malformed(self._dispatcher, here, found)
        await self._transport.handle_post_message(
            request.scope,
            replay_body(request, body),
            _JsonRpcErrorSender(request, send, get_request_id(found)),
        )

    async def _authenticate(self, request: Request) -> McpRequestContext:
        here = await self._authenticator.authenticate(request)
        if isinstance(here.caller, Operator):
            raise Forbidden("MCP tools are tenant-scoped")
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


def _disable_buffering(send: Send) -> Send:
    """Headers that keep proxies from buffering events."""

    async def passed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message["headers"], (b"x-accel-buffering", b"no")]
            message = {**message, "headers": headers}
        await send(message)

    return passed
