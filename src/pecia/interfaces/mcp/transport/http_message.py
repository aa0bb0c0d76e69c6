"""The HTTP side of a message: content types, statuses and challenges. Answers no message."""

from collections.abc import Mapping
from contextlib import suppress

import orjson
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope

from pecia.interfaces.http.auth.challenge import challenge_headers
from pecia.interfaces.http.errors import HttpStatusError, retry_after_headers
from pecia.interfaces.http.request_info import get_request_info
from pecia.interfaces.mcp.errors import ProtocolRejection, error_envelope
from pecia.interfaces.mcp.request_context import McpRequestContext
from pecia.interfaces.mcp.transport.jsonrpc import get_request_id
from pecia.kernel.errors import InvalidFormat, InvalidRequest, Json, PeciaError
from pecia.kernel.identity.caller import Caller

JSON, EVENT_STREAM = "application/json", "text/event-stream"

MAX_REFUSED_BYTES = 65_536

# The edge middleware checks Host and Origin, more strictly.
NO_SDK_HOST_CHECK = TransportSecuritySettings(enable_dns_rebinding_protection=False)


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


def check_content_type(declared: str) -> None:
    kind = declared.partition(";")[0].strip().lower()
    if kind != JSON:
        raise HttpStatusError(
            InvalidFormat(
                f"the body must be {JSON}; got {declared[:100] or 'no content type'}",
                field="Content-Type",
                expected=JSON,
                got=declared[:100],
            ),
            415,
        )


def accepted_types(request: Request) -> frozenset[str]:
    """The accepted content types. Without an Accept header, any."""
    declared = request.headers.get("accept", "").strip()
    kinds = {it.partition(";")[0].strip().lower() for it in (declared or "*/*").split(",")}
    takes_json = kinds & {"*/*", "application/*", JSON}
    takes_streams = kinds & {"*/*", "text/*", EVENT_STREAM}
    if not takes_json and not takes_streams:
        raise HttpStatusError(
            InvalidRequest(f"this endpoint answers {JSON} or {EVENT_STREAM}", header="Accept"), 406
        )
    return frozenset((*([JSON] if takes_json else []), *([EVENT_STREAM] if takes_streams else [])))


def with_full_accept(scope: Scope) -> Scope:
    """The scope with both types in Accept, which the SDK requires."""
    others = [it for it in scope["headers"] if it[0] != b"accept"]
    return {**scope, "headers": [*others, (b"accept", f"{JSON}, {EVENT_STREAM}".encode())]}


def without_last_event_id(scope: Scope) -> Scope:
    """The scope without Last-Event-ID: no events are kept, and the SDK would not answer."""
    kept = [it for it in scope["headers"] if it[0] != b"last-event-id"]
    return {**scope, "headers": kept}


async def read_body(request: Request) -> bytes:
    """The whole body. Nearly always available at once, in one chunk."""
    pieces: list[bytes] = []
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)


async def read_request_id(request: Request) -> str | int | None:
    """The id in the body of a request that is rejected unread. Short bodies only: a rejected
    client must not make us read much."""
    body = b""
    while len(body) <= MAX_REFUSED_BYTES:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    with suppress(orjson.JSONDecodeError):
        return get_request_id(orjson.loads(body)) if len(body) <= MAX_REFUSED_BYTES else None
    return None


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
