"""An endpoint of Streamable HTTP: admits, reads the frame, and hands it to who can answer it."""

from collections.abc import Generator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from typing import Any, cast

import orjson
from mcp.server.connection import Connection
from mcp_types.methods import validate_client_request
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pecia.doors.http.arrival import arrival_of
from pecia.doors.http.errors import Refused
from pecia.doors.http.visit import Doorkeeper
from pecia.doors.mcp.admission import Admission
from pecia.doors.mcp.body import audit_malformed, read_frames
from pecia.doors.mcp.carrier import (
    JSON,
    STREAM,
    accepted,
    accepting,
    afresh,
    as_json,
    body_of,
    check_content_type,
    refusal,
    replayed,
    unread_id,
    user_of,
)
from pecia.doors.mcp.endpoints import Endpoint
from pecia.doors.mcp.era import BATCHES, is_modern, speaks_modern
from pecia.doors.mcp.errors import Rejected, envelope
from pecia.doors.mcp.exchange import Exchange, Stream, answer, respond
from pecia.doors.mcp.frame import Message, id_of, is_request, message
from pecia.doors.mcp.listing import Listings
from pecia.doors.mcp.mirror import mirrored
from pecia.doors.mcp.plain_answer import PlainAnswer
from pecia.doors.mcp.rules import require_revision, routed
from pecia.doors.mcp.server import Parts, make_server
from pecia.doors.mcp.session_manager import SESSION, SessionManager, opened
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

VERSION = "mcp-protocol-version"
LISTEN = "subscriptions/listen"


class Door:
    """One endpoint, as an ASGI app."""

    def __init__(self, endpoint: Endpoint, parts: Parts, keeper: Doorkeeper) -> None:
        self.endpoint = endpoint
        self._parts = parts
        self._admission = Admission(endpoint, parts, keeper)
        self._listings = Listings(endpoint)
        self.server = make_server(endpoint, parts, self._listings)
        limit = parts.app.settings.kernel.body_limit_bytes
        self._sessions = SessionManager(self.server, parts.sessions, limit)
        self._flying: set[tuple[str, str | int]] = set()

    def running(self) -> AbstractAsyncContextManager[None]:
        """What must be entered while the endpoint is served."""
        return self._sessions.running()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        asked = _Asked()
        try:
            await self._serve(request, send, asked)
        except (PeciaError, Refused, Rejected) as failure:
            if request.method == "POST" and not asked.was_read:
                # Without its id a client cannot tell which of its requests was refused.
                asked.id = await unread_id(request)
            await refusal(failure, request, asked.id, modern=asked.modern)(scope, receive, send)

    async def _serve(self, request: Request, send: Send, asked: "_Asked") -> None:
        version = request.headers.get(VERSION)
        asked.modern = speaks_modern(version, None)
        self._check_method(request, modern=asked.modern)
        here = await self._admission.admit(request)
        if request.method != "POST":
            self._require_session(request)
            await self._in_session(request, here, send)
            return
        check_content_type(request.headers.get("content-type", ""))
        asked.was_read = True
        body = await body_of(request)
        found = read_frames(self._parts.app.corridor, here, body)
        asked.id = id_of(found)
        asked.modern = speaks_modern(version, found)
        if isinstance(found, list):
            await self._batch(request, here, found, send, modern=asked.modern)
            return
        await self._require_scope(here, found)
        audit_malformed(self._parts.app.corridor, here, found)
        _note(request, found)
        if asked.modern:
            await self._newer(request, here, found, send)
        elif self._has_session(request, found):
            id_ = asked.id if is_request(found) else None
            if id_ is not None and JSON in accepted(request):
                send = PlainAnswer(send, id_)
            with self._one_of_its_id(request, id_):
                await self._in_session(request, here, send, body)
        else:
            await self._older(request, here, found, send)

    async def _newer(self, request: Request, here: Standing, found: Message, send: Send) -> None:
        """The era without sessions: every request says all there is to know about it."""
        takes_streams = STREAM in accepted(request)
        if "id" not in found and "method" in found:
            require_revision(request.headers)
            await Response(status_code=202)(request.scope, request.receive, send)
            return
        if _is_stdio(request):
            request = Request(mirrored(request.scope, found, here.offer), request.receive)
        route = routed(request.headers, found, here.offer)
        if (page := self._page(here, found, route.protocol_version)) is not None:
            await as_json(page)(request.scope, request.receive, send)
            return
        if found["method"] == LISTEN and not takes_streams:
            raise Refused(InvalidRequest(f"{LISTEN} answers {STREAM}", header="Accept"), 406)
        connection = Connection.from_envelope(
            route.protocol_version, route.client_info, route.client_capabilities
        )
        exchange = Exchange(request, found, Stream(send) if takes_streams else None)
        is_endless = found["method"] == LISTEN
        async with opened(self._parts.sessions, here.quota_key) if is_endless else nullcontext():
            await respond(self.server, exchange, connection, send, self._parts.watchmen)

    async def _older(self, request: Request, here: Standing, found: Message, send: Send) -> None:
        """The era with a handshake, for those who need none: they ask and are answered."""
        accepted(request)
        version = request.headers.get(VERSION) or BATCHES
        if (page := self._page(here, found, version)) is not None:
            await as_json(page)(request.scope, request.receive, send)
        elif is_request(found):
            exchange = Exchange(request, found, Stream(send) if _names_streams(request) else None)
            connection = Connection.from_envelope(version, None, None)
            await respond(self.server, exchange, connection, send, self._parts.watchmen)
        else:
            await Response(status_code=202)(request.scope, request.receive, send)

    async def _in_session(
        self, request: Request, here: Standing, send: Send, body: bytes | None = None
    ) -> None:
        """Sessions are the SDK's business; it compares whose they are."""
        scope = {**request.scope, "user": user_of(here)}
        if body is None:
            await self._sessions.serve(afresh(scope), request.receive, send, here.quota_key)
            return
        accepted(request)
        receive = replayed(request, body)
        await self._sessions.serve(accepting(scope), receive, send, here.quota_key)

    @contextmanager
    def _one_of_its_id(self, request: Request, id_: str | int | None) -> Generator[None]:
        """Of two under one id a session answers the later alone, and the other would wait."""
        if id_ is None or (session := request.headers.get(SESSION)) is None:
            yield
            return
        flight = (session, id_)
        if flight in self._flying:
            raise InvalidRequest(f"the request {id_!r} is not answered yet: use another id")
        self._flying.add(flight)
        try:
            yield
        finally:
            self._flying.discard(flight)

    def _page(self, here: Standing, found: Message, version: str) -> bytes | None:
        """The list of tools in ready bytes, where nothing about the request is unusual."""
        params: Mapping[str, Any] = found.get("params") or {}
        if found.get("method") != "tools/list" or "id" not in found or "cursor" in params:
            return None
        if is_modern(version) and not _is_sound(found, version):
            return None
        page = self._listings.page(here.offer, here.who, version)
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (orjson.dumps(found["id"]), page.body)

    async def _batch(
        self, request: Request, here: Standing, members: list[Any], send: Send, *, modern: bool
    ) -> None:
        """Every answer of a batch, in its order. Only one revision knows batches."""
        if modern or request.headers.get(VERSION, BATCHES) != BATCHES:
            raise InvalidRequest("only revision 2025-03-26 knows batches", expected="object")
        answers = [it for member in members if (it := await self._member(request, here, member))]
        if not answers:
            await Response(status_code=202)(request.scope, request.receive, send)
            return
        body = b"[%b]" % b",".join(answers)
        await as_json(body)(request.scope, request.receive, send)

    async def _member(self, request: Request, here: Standing, member: Any) -> bytes | None:
        try:
            found = message(member)
            if found.get("method") == "initialize":
                raise InvalidRequest("initialize may not stand in a batch", field="method")
            audit_malformed(self._parts.app.corridor, here, found)
        except PeciaError as error:
            return envelope(error, id_of(member), modern=False)
        if not is_request(found):
            return None
        connection = Connection.from_envelope(BATCHES, None, None)
        return orjson.dumps(await answer(self.server, Exchange(request, found), connection))

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

    def _has_session(self, request: Request, found: Message) -> bool:
        """Who shakes hands and takes no streams gets no session: it could use it for nothing."""
        if not self.endpoint.streams:
            return False
        begins = found.get("method") == "initialize" and _names_streams(request)
        return begins or SESSION in request.headers


class _Asked:
    """What is known of a request by the time it is refused."""

    __slots__ = ("id", "modern", "was_read")

    def __init__(self) -> None:
        self.id: str | int | None = None
        self.was_read = False
        self.modern = False


def _is_sound(found: Message, version: str) -> bool:
    """Whether the SDK would find nothing wrong with the params of a list."""
    try:
        validate_client_request("tools/list", version, found.get("params"))
    except (KeyError, ValidationError):
        return False
    return True


def _names_streams(request: Request) -> bool:
    """In the older era only who says so gets a stream: many who take anything cannot read one."""
    return STREAM in request.headers.get("accept", "")


def _is_stdio(request: Request) -> bool:
    """Whether the frame came to us over stdio, where there are no headers to write."""
    return "x-pecia-stdio" in request.headers


def _note(request: Request, found: Message) -> None:
    params: Mapping[str, Any] = found.get("params") or {}
    name = params.get("name")
    arrival_of(request.scope).line.note(
        rpc=str(found.get("method", "response"))[:100],
        **({"tool": name[:200]} if isinstance(name, str) else {}),
    )
