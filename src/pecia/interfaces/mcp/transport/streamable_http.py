"""An endpoint of Streamable HTTP: authenticates, parses the message, and routes it."""

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

from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.errors import HttpStatusError
from pecia.interfaces.http.request_info import get_request_info
from pecia.interfaces.mcp.authentication import McpAuthenticator
from pecia.interfaces.mcp.errors import ProtocolRejection, error_envelope
from pecia.interfaces.mcp.methods.tool_list import ToolListCache
from pecia.interfaces.mcp.protocol_version import BATCH_VERSION, is_modern, speaks_modern
from pecia.interfaces.mcp.request_context import McpRequestContext
from pecia.interfaces.mcp.server import McpServices, make_server
from pecia.interfaces.mcp.transport.header_mirror import add_mirrored_headers
from pecia.interfaces.mcp.transport.http_message import (
    EVENT_STREAM,
    JSON,
    accepted_types,
    check_content_type,
    error_response,
    json_response,
    read_body,
    read_request_id,
    replay_body,
    session_user,
    with_full_accept,
    without_last_event_id,
)
from pecia.interfaces.mcp.transport.json_response import JsonResponseSender
from pecia.interfaces.mcp.transport.jsonrpc import (
    RpcMessage,
    get_request_id,
    is_request,
    parse_message,
)
from pecia.interfaces.mcp.transport.request_body import audit_malformed, read_frames
from pecia.interfaces.mcp.transport.session_manager import (
    SESSION_ID_HEADER,
    SessionManager,
    open_session,
)
from pecia.interfaces.mcp.transport.stateless import (
    EventStream,
    StatelessExchange,
    handle_request,
    respond,
)
from pecia.interfaces.mcp.transport.validate import require_known_version, validate_request
from pecia.interfaces.mcp.views.endpoints import McpEndpoint
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

VERSION_HEADER = "mcp-protocol-version"
LISTEN_METHOD = "subscriptions/listen"


class StreamableHttpEndpoint:
    """One endpoint, as an ASGI app."""

    def __init__(
        self, endpoint: McpEndpoint, services: McpServices, authenticator: HttpAuthenticator
    ) -> None:
        self.endpoint = endpoint
        self._parts = services
        self._admission = McpAuthenticator(endpoint, services, authenticator)
        self._listings = ToolListCache(endpoint)
        self.server = make_server(endpoint, services, self._listings)
        limit = services.app.settings.kernel.body_limit_bytes
        self._sessions = SessionManager(self.server, services.sessions, limit)
        self._in_flight: set[tuple[str, str | int]] = set()

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """Enter it while the endpoint is served."""
        return self._sessions.lifespan()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        facts = _RequestFacts()
        try:
            await self._serve(request, send, facts)
        except (PeciaError, HttpStatusError, ProtocolRejection) as failure:
            if request.method == "POST" and not facts.was_read:
                # Without the id a client cannot tell which of its requests was rejected.
                facts.id = await read_request_id(request)
            await error_response(failure, request, facts.id, modern=facts.modern)(
                scope, receive, send
            )

    async def _serve(self, request: Request, send: Send, facts: "_RequestFacts") -> None:
        version = request.headers.get(VERSION_HEADER)
        facts.modern = speaks_modern(version, None)
        self._check_method(request, modern=facts.modern)
        here = await self._admission.authenticate(request)
        if request.method != "POST":
            self._require_session(request)
            await self._serve_session(request, here, send)
            return
        check_content_type(request.headers.get("content-type", ""))
        facts.was_read = True
        body = await read_body(request)
        found = read_frames(self._parts.app.dispatcher, here, body)
        facts.id = get_request_id(found)
        facts.modern = speaks_modern(version, found)
        if isinstance(found, list):
            await self._serve_batch(request, here, found, send, modern=facts.modern)
            return
        await self._require_scope(here, found)
        audit_malformed(self._parts.app.dispatcher, here, found)
        _log_request(request, found)
        if facts.modern:
            await self._serve_modern(request, here, found, send)
        elif self._has_session(request, found):
            id_ = facts.id if is_request(found) else None
            if id_ is not None and JSON in accepted_types(request):
                send = JsonResponseSender(send, id_)
            with self._reserve_request_id(request, id_):
                await self._serve_session(request, here, send, body)
        else:
            await self._serve_legacy(request, here, found, send)

    async def _serve_modern(
        self, request: Request, here: McpRequestContext, found: RpcMessage, send: Send
    ) -> None:
        """Modern: no sessions, every request is self-contained."""
        takes_streams = EVENT_STREAM in accepted_types(request)
        if "id" not in found and "method" in found:
            require_known_version(request.headers)
            await Response(status_code=202)(request.scope, request.receive, send)
            return
        if _is_stdio(request):
            request = Request(
                add_mirrored_headers(request.scope, found, here.view), request.receive
            )
        route = validate_request(request.headers, found, here.view)
        if (page := self._cached_tool_list(here, found, route.protocol_version)) is not None:
            await json_response(page)(request.scope, request.receive, send)
            return
        if found["method"] == LISTEN_METHOD and not takes_streams:
            raise HttpStatusError(
                InvalidRequest(f"{LISTEN_METHOD} answers {EVENT_STREAM}", header="Accept"), 406
            )
        connection = Connection.from_envelope(
            route.protocol_version, route.client_info, route.client_capabilities
        )
        exchange = StatelessExchange(request, found, EventStream(send) if takes_streams else None)
        is_endless = found["method"] == LISTEN_METHOD
        async with (
            open_session(self._parts.sessions, here.quota_key) if is_endless else nullcontext()
        ):
            await respond(self.server, exchange, connection, send, self._parts.watchers)

    async def _serve_legacy(
        self, request: Request, here: McpRequestContext, found: RpcMessage, send: Send
    ) -> None:
        """Legacy without a session: one request, one response."""
        accepted_types(request)
        version = request.headers.get(VERSION_HEADER) or BATCH_VERSION
        if (page := self._cached_tool_list(here, found, version)) is not None:
            await json_response(page)(request.scope, request.receive, send)
        elif is_request(found):
            exchange = StatelessExchange(
                request, found, EventStream(send) if _names_event_stream(request) else None
            )
            connection = Connection.from_envelope(version, None, None)
            await respond(self.server, exchange, connection, send, self._parts.watchers)
        else:
            await Response(status_code=202)(request.scope, request.receive, send)

    async def _serve_session(
        self, request: Request, here: McpRequestContext, send: Send, body: bytes | None = None
    ) -> None:
        """Sessions are handled by the SDK, which also checks their owner."""
        scope = {**request.scope, "user": session_user(here)}
        if body is None:
            await self._sessions.serve(
                without_last_event_id(scope), request.receive, send, here.quota_key
            )
            return
        accepted_types(request)
        receive = replay_body(request, body)
        await self._sessions.serve(with_full_accept(scope), receive, send, here.quota_key)

    @contextmanager
    def _reserve_request_id(self, request: Request, id_: str | int | None) -> Generator[None]:
        """Reject a duplicate id: the SDK answers the later request only, the other would hang."""
        if id_ is None or (session := request.headers.get(SESSION_ID_HEADER)) is None:
            yield
            return
        flight = (session, id_)
        if flight in self._in_flight:
            raise InvalidRequest(f"the request {id_!r} is not answered yet: use another id")
        self._in_flight.add(flight)
        try:
            yield
        finally:
            self._in_flight.discard(flight)

    def _cached_tool_list(
        self, here: McpRequestContext, found: RpcMessage, version: str
    ) -> bytes | None:
        """The cached, serialised tool list, for plain requests of the first page."""
        params: Mapping[str, Any] = found.get("params") or {}
        if found.get("method") != "tools/list" or "id" not in found or "cursor" in params:
            return None
        if is_modern(version) and not _has_valid_params(found, version):
            return None
        page = self._listings.get_page(here.view, here.caller, version)
        return b'{"jsonrpc":"2.0","id":%b,"result":%b}' % (orjson.dumps(found["id"]), page.body)

    async def _serve_batch(
        self,
        request: Request,
        here: McpRequestContext,
        members: list[Any],
        send: Send,
        *,
        modern: bool,
    ) -> None:
        """Every response of a batch, in order. Only one revision has batches."""
        if modern or request.headers.get(VERSION_HEADER, BATCH_VERSION) != BATCH_VERSION:
            raise InvalidRequest(
                "batches are supported in revision 2025-03-26 only", expected="object"
            )
        answers = [
            it
            for member in members
            if (it := await self._serve_batch_member(request, here, member))
        ]
        if not answers:
            await Response(status_code=202)(request.scope, request.receive, send)
            return
        body = b"[%b]" % b",".join(answers)
        await json_response(body)(request.scope, request.receive, send)

    async def _serve_batch_member(
        self, request: Request, here: McpRequestContext, member: Any
    ) -> bytes | None:
        try:
            found = parse_message(member)
            if found.get("method") == "initialize":
                raise InvalidRequest("initialize is not allowed in a batch", field="method")
            audit_malformed(self._parts.app.dispatcher, here, found)
        except PeciaError as error:
            return error_envelope(error, get_request_id(member), modern=False)
        if not is_request(found):
            return None
        connection = Connection.from_envelope(BATCH_VERSION, None, None)
        return orjson.dumps(
            await handle_request(self.server, StatelessExchange(request, found), connection)
        )

    async def _require_scope(self, here: McpRequestContext, found: RpcMessage) -> None:
        """Refuse with 401 or 403 before any stream, so that a client can get another token."""
        if isinstance(here.caller, Operator):
            raise await self._dispatch_refusal(here, str(found.get("method", ""))[:200], {})
        params: Mapping[str, Any] = found.get("params") or {}
        name, given = params.get("name"), cast(object, params.get("arguments") or {})
        if found.get("method") != "tools/call" or not isinstance(name, str):
            return
        if not isinstance(given, dict):
            return
        name, arguments, view = here.view.resolve_call(name, cast(dict[str, Json], given))
        tool = view.tools.get(name) or view.aliases.get(name)
        if tool is not None and not may_call(here.caller, tool):
            raise await self._dispatch_refusal(here, name, arguments)

    async def _dispatch_refusal(
        self, here: McpRequestContext, name: str, arguments: Mapping[str, Json]
    ) -> PeciaError:
        """The dispatcher's own refusal, which is also audited."""
        view = here.view.callable_view or here.view.view
        try:
            await self._parts.app.call(here.caller, name, arguments, here.context, view)
        except (AuthRequired, Forbidden, RateLimited) as error:
            return error
        return InternalError("a call without the required scope was not refused")

    def _check_method(self, request: Request, *, modern: bool) -> None:
        allowed = ("GET", "POST", "DELETE") if self.endpoint.streams and not modern else ("POST",)
        if request.method not in allowed:
            raise HttpStatusError(
                MethodNotFound(
                    f"method not allowed; this endpoint takes {', '.join(allowed)}",
                    allowed=[*allowed],
                ),
                405,
                {"allow": ", ".join(allowed)},
            )

    def _require_session(self, request: Request) -> None:
        if SESSION_ID_HEADER not in request.headers:
            raise InvalidRequest("Mcp-Session-Id is missing", header="Mcp-Session-Id")

    def _has_session(self, request: Request, found: RpcMessage) -> bool:
        """A client that initializes without accepting streams gets no session: it needs none."""
        if not self.endpoint.streams:
            return False
        begins = found.get("method") == "initialize" and _names_event_stream(request)
        return begins or SESSION_ID_HEADER in request.headers


class _RequestFacts:
    """What is known of a request when it is rejected."""

    __slots__ = ("id", "modern", "was_read")

    def __init__(self) -> None:
        self.id: str | int | None = None
        self.was_read = False
        self.modern = False


def _has_valid_params(found: RpcMessage, version: str) -> bool:
    """Whether the SDK would accept the params of a list."""
    try:
        validate_client_request("tools/list", version, found.get("params"))
    except (KeyError, ValidationError):
        return False
    return True


def _names_event_stream(request: Request) -> bool:
    """Legacy clients must name the type to get a stream: many that accept */* cannot read one."""
    return EVENT_STREAM in request.headers.get("accept", "")


def _is_stdio(request: Request) -> bool:
    """Whether the message came through the stdio relay, which sends no mirrored headers."""
    return "x-pecia-stdio" in request.headers


def _log_request(request: Request, found: RpcMessage) -> None:
    params: Mapping[str, Any] = found.get("params") or {}
    name = params.get("name")
    get_request_info(request.scope).log_line.note(
        rpc=str(found.get("method", "response"))[:100],
        **({"tool": name[:200]} if isinstance(name, str) else {}),
    )
