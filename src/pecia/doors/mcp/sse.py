"""The transport of 2024-11-05: a stream of events, and a second path to post messages to."""

from typing import Any

from mcp.server.sse import SseServerTransport
from starlette.requests import Request
from starlette.types import Message, Receive, Scope, Send

from pecia.doors.http.errors import Refused
from pecia.doors.http.visit import Doorkeeper
from pecia.doors.mcp.admission import Admission
from pecia.doors.mcp.body import audit_malformed, read_frames
from pecia.doors.mcp.carrier import OPEN, body_of, refusal, replayed, user_of
from pecia.doors.mcp.endpoints import Endpoint, messages_path
from pecia.doors.mcp.frame import id_of
from pecia.doors.mcp.listing import Listings
from pecia.doors.mcp.server import Parts, make_server
from pecia.doors.mcp.session_manager import opened
from pecia.doors.mcp.standing import Standing
from pecia.kernel.errors import (
    Forbidden,
    InvalidRequest,
    Json,
    MethodNotFound,
    NotFound,
    PeciaError,
)
from pecia.kernel.identity.caller import Operator


class SseDoor:
    """One endpoint of the older transport: the stream, and the way back."""

    def __init__(self, endpoint: Endpoint, parts: Parts, keeper: Doorkeeper) -> None:
        self.endpoint = endpoint
        self._corridor = parts.app.corridor
        self._admission = Admission(endpoint, parts, keeper)
        self._sessions = parts.sessions
        self._server = make_server(endpoint, parts, Listings(endpoint))
        self._transport = SseServerTransport(
            messages_path(endpoint),
            security_settings=OPEN,
            max_request_body_size=parts.app.settings.kernel.body_limit_bytes,
        )
        self.stream = _Guarded(self._stream, "GET")
        self.messages = _Guarded(self._message, "POST")

    async def _stream(self, request: Request, send: Send) -> None:
        here = await self._admit(request)
        options = self._server.create_initialization_options()
        self._sessions.count_beginning(here.quota_key)
        async with (
            opened(self._sessions, here.quota_key),
            self._transport.connect_sse(request.scope, request.receive, _unbuffered(send)) as (
                reader,
                writer,
            ),
        ):
            await self._server.run(reader, writer, options)

    async def _message(self, request: Request, send: Send) -> None:
        here = await self._admit(request)
        body = await body_of(request)
        found = read_frames(self._corridor, here, body)
        if isinstance(found, list):
            raise InvalidRequest("this transport knows no batches", expected="object")
        audit_malformed(self._corridor, here, found)
        await self._transport.handle_post_message(
            request.scope, replayed(request, body), _Enveloped(request, send, id_of(found))
        )

    async def _admit(self, request: Request) -> Standing:
        here = await self._admission.admit(request)
        if isinstance(here.who, Operator):
            raise Forbidden("MCP tools are tenant-scoped")
        request.scope["user"] = user_of(here)
        return here


class _Guarded:
    """An ASGI app for one method, whose refusals are JSON-RPC."""

    def __init__(self, serve: Any, method: str) -> None:
        self._serve = serve
        self._method = method

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            if request.method != self._method:
                raise Refused(
                    MethodNotFound(f"this path takes {self._method}"), 405, {"allow": self._method}
                )
            await self._serve(request, send)
        except (PeciaError, Refused) as failure:
            await refusal(failure, request, None, modern=False)(scope, receive, send)


class _Enveloped:
    """A `send` that tells the SDK's refusals, which are bare words, as all others are told."""

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
            said = message.get("body", b"").decode("utf-8", "replace")
            error = NotFound(said) if self._status == 404 else InvalidRequest(said)
            told = refusal(Refused(error, self._status), self._request, self._id, modern=False)
            await told(self._request.scope, self._request.receive, self._send)


def _unbuffered(send: Send) -> Send:
    """Proxies must not hold events back."""

    async def passed(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = [*message["headers"], (b"x-accel-buffering", b"no")]
            message = {**message, "headers": headers}
        await send(message)

    return passed
