"""What HTTP wants around a frame: kinds of content, statuses and challenges. Answers no frame."""

from collections.abc import Mapping
from contextlib import suppress

import orjson
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import Message, Receive, Scope

from pecia.doors.http.arrival import arrival_of
from pecia.doors.http.challenge import challenge
from pecia.doors.http.errors import Refused, retry_after
from pecia.doors.mcp.errors import Rejected, envelope
from pecia.doors.mcp.frame import id_of
from pecia.doors.mcp.standing import Standing
from pecia.kernel.errors import InvalidFormat, InvalidRequest, Json, PeciaError
from pecia.kernel.identity.caller import Caller

JSON, STREAM = "application/json", "text/event-stream"

REFUSED_BYTES = 65_536

# Host and Origin are the front's business, and it is stricter.
OPEN = TransportSecuritySettings(enable_dns_rebinding_protection=False)


def refusal(
    failure: PeciaError | Refused | Rejected, request: Request, request_id: Json, *, modern: bool
) -> Response:
    """A refusal as JSON-RPC, with the status and the challenge that HTTP has for it."""
    error = failure if isinstance(failure, PeciaError) else failure.error
    status = failure.status if isinstance(failure, Refused) else error.code.http
    headers = dict(failure.headers) if isinstance(failure, Refused) else {}
    headers |= challenge(error, request)
    headers |= retry_after(error)
    arrival_of(request.scope).line.fail(error)
    told = failure if isinstance(failure, Rejected) else error
    return as_json(envelope(told, request_id, modern=modern), status, headers)


def as_json(body: bytes, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    return Response(body, status, headers, media_type=JSON)


def check_content_type(given: str) -> None:
    kind = given.partition(";")[0].strip().lower()
    if kind != JSON:
        raise Refused(
            InvalidFormat(
                f"the body must be {JSON}; {given[:100] or 'no content type'} came",
                field="Content-Type",
                expected=JSON,
                got=given[:100],
            ),
            415,
        )


def accepted(request: Request) -> frozenset[str]:
    """What the client takes. Who says nothing takes anything."""
    given = request.headers.get("accept", "").strip()
    kinds = {it.partition(";")[0].strip().lower() for it in (given or "*/*").split(",")}
    takes_json = kinds & {"*/*", "application/*", JSON}
    takes_streams = kinds & {"*/*", "text/*", STREAM}
    if not takes_json and not takes_streams:
        raise Refused(
            InvalidRequest(f"this endpoint answers {JSON} or {STREAM}", header="Accept"), 406
        )
    return frozenset((*([JSON] if takes_json else []), *([STREAM] if takes_streams else [])))


def accepting(scope: Scope) -> Scope:
    """The scope as the SDK wants it: it insists on both kinds by name."""
    others = [it for it in scope["headers"] if it[0] != b"accept"]
    return {**scope, "headers": [*others, (b"accept", f"{JSON}, {STREAM}".encode())]}


def afresh(scope: Scope) -> Scope:
    """The scope without the wish for lost events: none are kept, and the SDK would not answer."""
    kept = [it for it in scope["headers"] if it[0] != b"last-event-id"]
    return {**scope, "headers": kept}


async def body_of(request: Request) -> bytes:
    """The whole body. Nearly always it is there at once, and comes in one piece."""
    pieces: list[bytes] = []
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        pieces.append(message.get("body", b""))
        if not message.get("more_body", False):
            return pieces[0] if len(pieces) == 1 else b"".join(pieces)


async def unread_id(request: Request) -> str | int | None:
    """The id in the body of a request that is refused unread. Only in a short one: who is refused
    must not make us read much."""
    body = b""
    while len(body) <= REFUSED_BYTES:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    with suppress(orjson.JSONDecodeError):
        return id_of(orjson.loads(body)) if len(body) <= REFUSED_BYTES else None
    return None


def replayed(request: Request, body: bytes) -> Receive:
    """The body once more, for whoever reads after us; then what really comes."""
    waiting: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive() -> Message:
        return waiting.pop() if waiting else await request.receive()

    return receive


def user_of(here: Standing) -> AuthenticatedUser:
    """Whose session it is, as the SDK compares it: the owner's. A token may be renewed."""
    client = here.who.tenant if isinstance(here.who, Caller) else "operator"
    token = AccessToken(token="", client_id=client, scopes=[], subject=here.owner)
    return AuthenticatedUser(token)
