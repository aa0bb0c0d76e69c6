"""An endpoint of Streamable HTTP. `StreamableHttpEndpoint.serve` is the order of a request."""

from collections.abc import Generator, Mapping
from contextlib import AbstractAsyncContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import orjson
from mcp.server.connection import Connection
from mcp_types.methods import validate_client_request
from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from pecia.app.dispatch import operator_refusal
from pecia.interfaces.http.auth.authenticator import HttpAuthenticator
from pecia.interfaces.http.errors import HttpStatusError
from pecia.interfaces.http.request_info import get_request_info
from pecia.interfaces.mcp.errors import ProtocolRejection, error_envelope
from pecia.interfaces.mcp.methods.tool_list import ToolListCache
from pecia.interfaces.mcp.request_context import (
    BATCH_VERSION,
    McpAuthenticator,
    McpRequestContext,
    admit_call,
    is_modern,
    set_request_context,
    speaks_modern,
)
from pecia.interfaces.mcp.server import McpServices, make_server
from pecia.interfaces.mcp.transport.exchange import (
    EventStream,
    StatelessExchange,
    error_response,
    handle_request,
    json_response,
    replay_body,
    respond,
    session_user,
    with_full_accept,
    without_last_event_id,
)
from pecia.interfaces.mcp.transport.json_response import JsonResponseSender
from pecia.interfaces.mcp.transport.message import (
    EVENT_STREAM,
    JSON,
    RefusedBody,
    RpcMessage,
    accepted_types,
    add_mirrored_headers,
    audit_malformed,
    call_of,
    check_content_type,
    find_request_id,
    get_request_id,
    is_request,
    parse_message,
    read_body,
    read_message,
    read_request_id,
    require_known_version,
    validate_request,
)
from pecia.interfaces.mcp.transport.session_manager import (
    SESSION_ID_HEADER,
    SessionManager,
    open_session,
)
from pecia.interfaces.mcp.views.endpoints import McpEndpoint
from pecia.kernel.errors import InvalidInput, InvalidRequest, MethodNotFound, PeciaError
from pecia.kernel.identity.caller import Operator
from pecia.kernel.tool.model import AnyTool

VERSION_HEADER = "mcp-protocol-version"
LISTEN_METHOD = "subscriptions/listen"


class StreamableHttpEndpoint:
    """One endpoint, as an ASGI app."""

    def __init__(
        self, endpoint: McpEndpoint, services: McpServices, authenticator: HttpAuthenticator
    ) -> None:
        self.endpoint = endpoint
        self._has_streams = endpoint.streams
        self._services = services
        self._dispatcher = services.app.dispatcher
        self._authenticator = McpAuthenticator(
            endpoint, services.app, services.views, authenticator
        )
        self._listings = ToolListCache(endpoint)
        self.server = make_server(endpoint, services, self._listings)
        limit = services.app.settings.kernel.body_limit_bytes
        self._sessions = SessionManager(self.server, services.sessions, limit)
        self._in_flight: set[tuple[str, str | int]] = set()

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """Enter it while the endpoint is served."""
        return self._sessions.lifespan()

    def close_streams(self) -> None:
        """When the server stops."""
        self._sessions.close_streams()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        facts = _RequestFacts()
        try:
            await self.serve(request, send, facts)
        except (PeciaError, HttpStatusError, ProtocolRejection) as failure:
            if request.method == "POST" and not facts.was_read:
                # Without the id a client cannot tell which of its requests was rejected.
                facts.id = await read_request_id(request)
            await error_response(failure, request, facts.id, modern=facts.modern)(
                scope, receive, send
            )

    async def serve(self, request: Request, send: Send, facts: "_RequestFacts") -> None:
        """Every stage of a request, in order. Each one may refuse it.

        Before: the edge middleware checked host, origin and headers, and bounds the body.
        """
        version = request.headers.get(VERSION_HEADER)
        facts.modern = speaks_modern(version, None)
        self._check_method(request, modern=facts.modern)
        here = await self._authenticator.authenticate(request)  # and resolve the view
        if request.method != "POST":
            self._require_session(request)
            await self._serve_session(request, here, send)
            return
        check_content_type(request.headers.get("content-type", ""))
        facts.was_read = True
        try:
            body = await read_body(request)
        except RefusedBody as refused:
            facts.id = refused.id
            raise refused.refusal from None
        try:
            found = read_message(self._dispatcher, here, body)
        except InvalidInput:
            facts.id = find_request_id(body)
            raise
        facts.id = get_request_id(found)
        facts.modern = speaks_modern(version, found)
        if isinstance(found, list):
            await self._serve_batch(request, here, found, send, modern=facts.modern)
            return
        here = await self._admit(request, here, found)  # find the tool, check the scope
        audit_malformed(self._dispatcher, here, found)
        _log_request(request, found)
        # Each of the three has the SDK call the handler in `server.py`; modern first checks the
        # message against its revision. For a tool that is `Dispatcher.run_call` (audited: rate
        # limit, arguments, a slot, the tool), then `tool_result` renders the answer, which is sent.
        if facts.modern:
            await self._serve_modern(request, here, found, send)
        elif self._has_session(request, found):
            await self._serve_session(request, here, send, body, found)
        else:
            await self._serve_legacy(request, here, found, send)

    async def _admit(
        self, request: Request, here: McpRequestContext, found: RpcMessage
    ) -> McpRequestContext:
        """The request with its admitted call. 401 and 403 are sent before any stream begins, so
        that a client can get another token."""
        if isinstance(here.caller, Operator):
            method = str(found.get("method", ""))
            denied = operator_refusal()
            raise self._dispatcher.record_refusal(here.caller, method, denied, here.context)
        asked = call_of(found)
        if asked is None:
            return here
        here = replace(here, call=await admit_call(self._dispatcher, here, *asked))
        set_request_context(request.scope, here)
        return here

    async def _serve_modern(
        self, request: Request, here: McpRequestContext, found: RpcMessage, send: Send
    ) -> None:
        """Modern: no sessions, every request is self-contained."""
        takes_streams = EVENT_STREAM in accepted_types(request)
        if "id" not in found and "method" in found:
            require_known_version(request.headers)
            await Response(status_code=202)(request.scope, request.receive, send)
            return
        tool = _named_tool(here, found)
        if _is_stdio(request):
            request = Request(add_mirrored_headers(request.scope, found, tool), request.receive)
        route = validate_request(request.headers, found, tool)
        if (page := await self._cached_tool_list(here, found, route.protocol_version)) is not None:
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
            open_session(self._services.sessions, here.quota_key) if is_endless else nullcontext()
        ):
            await respond(self.server, exchange, connection, send, self._services.watchers)

    async def _serve_legacy(
        self, request: Request, here: McpRequestContext, found: RpcMessage, send: Send
    ) -> None:
        """Legacy without a session: one request, one response."""
        accepted_types(request)
        version = request.headers.get(VERSION_HEADER) or BATCH_VERSION
        if (page := await self._cached_tool_list(here, found, version)) is not None:
            await json_response(page)(request.scope, request.receive, send)
        elif is_request(found):
            exchange = StatelessExchange(
                request, found, EventStream(send) if _names_event_stream(request) else None
            )
            connection = Connection.from_envelope(version, None, None)
            await respond(self.server, exchange, connection, send, self._services.watchers)
        else:
            await Response(status_code=202)(request.scope, request.receive, send)

    async def _serve_session(
        self,
        request: Request,
        here: McpRequestContext,
        send: Send,
        body: bytes | None = None,
        found: RpcMessage | None = None,
    ) -> None:
        """Sessions are handled by the SDK, which also checks their owner."""
        scope = {**request.scope, "user": session_user(here)}
        if body is None or found is None:
            await self._sessions.serve(
                without_last_event_id(scope), request.receive, send, here.quota_key
            )
            return
        takes_json = JSON in accepted_types(request)
        id_ = get_request_id(found) if is_request(found) else None
        if id_ is not None and takes_json:
            send = JsonResponseSender(send, id_)
        receive = replay_body(request, body)
        with self._reserve_request_id(request, id_):
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

    async def _cached_tool_list(
        self, here: McpRequestContext, found: RpcMessage, version: str
    ) -> bytes | None:
        """The cached, serialised tool list, for plain requests of the first page."""
        params: Mapping[str, Any] = found.get("params") or {}
        if found.get("method") != "tools/list" or "id" not in found or "cursor" in params:
            return None
        if is_modern(version) and not _has_valid_params(found, version):
            return None
        page = await self._listings.get_page(here.view, here.caller, version)
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
            audit_malformed(self._dispatcher, here, found)
        except PeciaError as error:
            return error_envelope(error, get_request_id(member), modern=False)
        if not is_request(found):
            return None
        connection = Connection.from_envelope(BATCH_VERSION, None, None)
        return orjson.dumps(
            await handle_request(self.server, StatelessExchange(request, found), connection)
        )

    def _check_method(self, request: Request, *, modern: bool) -> None:
        allowed = ("GET", "POST", "DELETE") if self._has_streams and not modern else ("POST",)
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
        if not self._has_streams:
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


def _named_tool(here: McpRequestContext, found: RpcMessage) -> AnyTool | None:
    """The tool that the message itself names; `call_tool` names another one in its arguments."""
    call = here.call
    return call.tool if call is not None and call.name == found["params"]["name"] else None


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
