"""An endpoint of Streamable HTTP: admits, reads the frame, and hands it to who can answer it."""

from collections.abc import Mapping
from contextlib import AbstractAsyncContextManager
from typing import Any, cast

import orjson
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.shared.inbound import (
    InboundLadderRejection,
    classify_inbound_request,
    find_duplicated_routing_header,
)
from mcp_types.methods import validate_client_request
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pecia.doors.http.arrival import arrival_of
from pecia.doors.http.errors import Refused
from pecia.doors.http.visit import Doorkeeper
from pecia.doors.mcp.admission import Admission
from pecia.doors.mcp.carrier import (
    OPEN,
    STREAM,
    accepted,
    accepting,
    as_json,
    check_content_type,
    refusal,
    replayed,
)
from pecia.doors.mcp.endpoints import Endpoint
from pecia.doors.mcp.era import BATCHES, speaks_modern
from pecia.doors.mcp.errors import envelope
from pecia.doors.mcp.exchange import Exchange, answer, respond
from pecia.doors.mcp.frame import Message, id_of, is_request, message, parsed
from pecia.doors.mcp.listing import Listings
from pecia.doors.mcp.mirror import mirrored
from pecia.doors.mcp.server import Parts, make_server
from pecia.doors.mcp.standing import Standing
from pecia.kernel.errors import (
    AuthRequired,
    Forbidden,
    InternalError,
    InvalidRequest,
    Json,
    MethodNotFound,
    PeciaError,
    RateLimited,
)
from pecia.kernel.identity.caller import Operator
from pecia.kernel.tool.view import may_call

SESSION = "mcp-session-id"
VERSION = "mcp-protocol-version"


class Door:
    """One endpoint, as an ASGI app."""

    def __init__(self, endpoint: Endpoint, parts: Parts, keeper: Doorkeeper) -> None:
        self.endpoint = endpoint
        self._parts = parts
        self._admission = Admission(endpoint, parts, keeper)
        self._listings = Listings(endpoint)
        self.server = make_server(endpoint, parts, self._listings)
        limit = parts.app.settings.kernel.body_limit_bytes
        self._streaming = StreamableHTTPSessionManager(
            self.server, security_settings=OPEN, max_request_body_size=limit
        )
        self._plain = StreamableHTTPSessionManager(
            self.server,
            json_response=True,
            stateless=True,
            security_settings=OPEN,
            max_request_body_size=limit,
        )

    def running(self) -> list[AbstractAsyncContextManager[None]]:
        """What must be entered while the endpoint is served."""
        return [self._streaming.run(), self._plain.run()]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        asked = _Asked()
        try:
            await self._serve(request, send, asked)
        except (PeciaError, Refused) as failure:
            await refusal(failure, request, asked.id, modern=asked.modern)(scope, receive, send)

    async def _serve(self, request: Request, send: Send, asked: "_Asked") -> None:
        asked.modern = speaks_modern(request.headers.get(VERSION), None)
        self._check_method(request, modern=asked.modern)
        here = await self._admission.admit(request)
        if request.method != "POST":
            self._require_session(request)
            await self._streaming.asgi_app(request.scope, request.receive, send)
            return
        check_content_type(request.headers.get("content-type", ""))
        body = await request.body()
        found = parsed(body)
        asked.id = id_of(found)
        asked.modern = speaks_modern(request.headers.get(VERSION), found)
        if isinstance(found, list):
            await self._batch(request, found, send, modern=asked.modern)
            return
        await self._require_scope(here, found)
        _note(request, found)
        await self._answer(request, here, found, body, send)

    async def _answer(
        self, request: Request, here: Standing, found: Message, body: bytes, send: Send
    ) -> None:
        version = request.headers.get(VERSION)
        accepts = accepted(request)
        may_stream = STREAM in request.headers.get("accept", "")
        if (page := self._page(request, here, found)) is not None:
            await as_json(page)(request.scope, request.receive, send)
        elif speaks_modern(version, found):
            manager = self._streaming if STREAM in accepts else self._plain
            scope = request.scope
            if _is_stdio(request):
                scope = mirrored(scope, found, here.offer)
            await manager.asgi_app(accepting(scope), replayed(request, body), send)
        elif self._has_session(request, found, may_stream=may_stream):
            await self._streaming.asgi_app(accepting(request.scope), replayed(request, body), send)
        elif is_request(found):
            exchange = Exchange(request, found)
            await respond(self.server, exchange, _negotiated(version), send, may_stream=may_stream)
        else:
            await Response(status_code=202)(request.scope, request.receive, send)

    def _page(self, request: Request, here: Standing, found: Message) -> bytes | None:
        """The list of tools in ready bytes, where nothing about the request is unusual."""
        params: Mapping[str, Any] = found.get("params") or {}
        if found.get("method") != "tools/list" or "id" not in found or "cursor" in params:
            return None
        version = request.headers.get(VERSION)
        if speaks_modern(version, found):
            if not _is_sound(request, found):
                return None
        elif SESSION in request.headers:
            return None
        page = self._listings.page(here.offer, here.who, _negotiated(version))
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (orjson.dumps(found["id"]), page.body)

    async def _batch(
        self, request: Request, members: list[Any], send: Send, *, modern: bool
    ) -> None:
        """Every answer of a batch, in its order. Only one revision knows batches."""
        if modern or request.headers.get(VERSION, BATCHES) != BATCHES:
            raise InvalidRequest("only revision 2025-03-26 knows batches", expected="object")
        answers = [it for member in members if (it := await self._member(request, member))]
        if not answers:
            await Response(status_code=202)(request.scope, request.receive, send)
            return
        body = b"[%b]" % b",".join(answers)
        await as_json(body)(request.scope, request.receive, send)

    async def _member(self, request: Request, member: Any) -> bytes | None:
        try:
            found = message(member)
            if found.get("method") == "initialize":
                raise InvalidRequest("initialize may not stand in a batch", field="method")
        except PeciaError as error:
            return envelope(error, id_of(member), modern=False)
        if not is_request(found):
            return None
        return orjson.dumps(await answer(self.server, Exchange(request, found), BATCHES))

    async def _require_scope(self, here: Standing, found: Message) -> None:
        """Refuse with the status that makes a client fetch a better token, before any stream."""
        if isinstance(here.who, Operator):
            raise await self._refused(here, str(found.get("method", ""))[:200], {})
        params: Mapping[str, Any] = found.get("params") or {}
        name, given = params.get("name"), cast(object, params.get("arguments") or {})
        if found.get("method") != "tools/call" or not isinstance(name, str):
            return
        if not isinstance(given, dict):
            return
        name, arguments, view = here.offer.meant(name, cast(dict[str, Json], given))
        tool = view.tools.get(name) or view.aliases.get(name)
        if tool is not None and not may_call(here.who, tool):
            raise await self._refused(here, name, arguments)

    async def _refused(
        self, here: Standing, name: str, arguments: Mapping[str, Json]
    ) -> PeciaError:
        """The corridor's own refusal, which also writes it down."""
        view = here.offer.reach or here.offer.view
        try:
            await self._parts.app.call(here.who, name, arguments, here.visit, view)
        except (AuthRequired, Forbidden, RateLimited) as error:
            return error
        return InternalError("what was to be refused was not")

    def _check_method(self, request: Request, *, modern: bool) -> None:
        allowed = ("GET", "POST", "DELETE") if self.endpoint.streams and not modern else ("POST",)
        if request.method not in allowed:
            raise Refused(
                MethodNotFound(f"this endpoint takes {', '.join(allowed)}", allowed=[*allowed]),
                405,
                {"allow": ", ".join(allowed)},
            )

    def _require_session(self, request: Request) -> None:
        if SESSION not in request.headers:
            raise InvalidRequest("Mcp-Session-Id is missing", header="Mcp-Session-Id")

    def _has_session(self, request: Request, found: Message, *, may_stream: bool) -> bool:
        """Who shakes hands and takes no streams gets no session: it could use it for nothing."""
        if not self.endpoint.streams:
            return False
        return SESSION in request.headers or (found.get("method") == "initialize" and may_stream)


class _Asked:
    """What is known of a request by the time it is refused."""

    __slots__ = ("id", "modern")

    def __init__(self) -> None:
        self.id: str | int | None = None
        self.modern = False


def _is_sound(request: Request, found: Message) -> bool:
    """Whether a request of the newer era needs none of the SDK's refusals."""
    if find_duplicated_routing_header(request.headers.items()) is not None:
        return False
    route = classify_inbound_request(found, headers=dict(request.headers))
    if isinstance(route, InboundLadderRejection):
        return False
    try:
        validate_client_request("tools/list", route.protocol_version, found.get("params"))
    except (KeyError, ValidationError):
        return False
    return True


def _is_stdio(request: Request) -> bool:
    """Whether the frame came to us over stdio, where there are no headers to write."""
    return "x-pecia-stdio" in request.headers


def _negotiated(version: str | None) -> str:
    return version or BATCHES


def _note(request: Request, found: Message) -> None:
    params: Mapping[str, Any] = found.get("params") or {}
    name = params.get("name")
    arrival_of(request.scope).line.note(
        rpc=str(found.get("method", "response"))[:100],
        **({"tool": name[:200]} if isinstance(name, str) else {}),
    )
