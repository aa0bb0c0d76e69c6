"""Inbound: the body of a POST becomes a JSON-RPC message that its revision allows, or an error."""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, TypeAlias, cast

import orjson
from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PARAM_HEADER_PREFIX,
    MCP_PROTOCOL_VERSION_HEADER,
    NAME_BEARING_METHODS,
    InboundLadderRejection,
    InboundModernRoute,
    classify_inbound_request,
    encode_header_value,
    find_duplicated_routing_header,
    mcp_param_headers,
    unsupported_protocol_version_rejection,
    validate_mcp_param_headers,
    x_mcp_header_map,
)
from mcp_types import HEADER_MISMATCH
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect, Request
from starlette.types import Scope

from pecia.app.dispatch import Dispatcher
from pecia.interfaces.http.errors import HttpStatusError
from pecia.interfaces.mcp.errors import to_rejection
from pecia.interfaces.mcp.request_context import McpRequestContext
from pecia.kernel.errors import (
    InvalidFormat,
    InvalidInput,
    InvalidRequest,
    Json,
    ParseError,
    PeciaError,
    RateLimited,
)
from pecia.kernel.redaction.values import measure_depth
from pecia.kernel.store.audit.record import MAX_DEPTH
from pecia.kernel.tool.model import AnyTool
from pecia.kernel.tool.validate import cached_per_tool, input_schema
from pecia.kernel.tool.view import full_name

RpcMessage: TypeAlias = dict[str, Any]

JSON, EVENT_STREAM = "application/json", "text/event-stream"
CALL_METHOD = "tools/call"

UNREADABLE_CALL = "mcp.unreadable"
"""The tool name in the audit row where the tool is not known."""

MAX_BATCH = 100
"""Requests in one batch."""

MAX_REFUSED_BYTES = 65_536

ENVELOPE_DEPTH = 8
"""Levels around the arguments: the message, its params, and those of `call_tool`."""

_LEADING_ID = re.compile(
    rb"""\s*\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]*"\s*,)*"""
    rb"""\s*"id"\s*:\s*(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")\s*,"""
)
"""An object that begins with its id; `jsonrpc` and `method` may come before it."""

# The extension mirrors the id of its task.
NAME_PARAMS = {**NAME_BEARING_METHODS, **dict.fromkeys(("tasks/get", "tasks/update"), "taskId")}


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


class RefusedBody(Exception):
    """A body that the edge middleware refused while it was read: too long, or too slow."""

    def __init__(self, refusal: HttpStatusError, id_: str | int | None) -> None:
        super().__init__(str(refusal))
        self.refusal = refusal
        self.id = id_


async def read_body(request: Request) -> bytes:
    """The whole body, or RefusedBody. Nearly always available at once, in one chunk."""
    pieces: list[bytes] = []
    while True:
        try:
            message = await request.receive()
        except HttpStatusError as refusal:
            raise RefusedBody(refusal, find_leading_id(b"".join(pieces))) from None
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
        try:
            message = await request.receive()
        except HttpStatusError:
            return find_leading_id(body)
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        body += message.get("body", b"")
        if not message.get("more_body", False):
            break
    with suppress(orjson.JSONDecodeError):
        return get_request_id(orjson.loads(body)) if len(body) <= MAX_REFUSED_BYTES else None
    return None


def find_request_id(body: bytes) -> str | int | None:
    """The id of a request that is refused as a whole, such as one that is nested too deeply."""
    with suppress(orjson.JSONDecodeError):
        found = orjson.loads(body)
        return get_request_id(found) if isinstance(found, dict) and "method" in found else None
    return None


def find_leading_id(head: bytes) -> str | int | None:
    """The id in the beginning of a body, where an id comes first. The SDKs write it there, but for
    the TypeScript one, which looks at what a post returns."""
    found = _LEADING_ID.match(head)
    with suppress(orjson.JSONDecodeError):
        return orjson.loads(found[1]) if found else None
    return None


def read_message(
    dispatcher: Dispatcher, here: McpRequestContext, body: bytes
) -> RpcMessage | list[Any]:
    """The message or batch in a body. A body that is none is audited."""
    try:
        return parse_body(body)
    except PeciaError as error:
        raise dispatcher.record_refusal(here.caller, UNREADABLE_CALL, error, here.context) from None


def audit_malformed(dispatcher: Dispatcher, here: McpRequestContext, found: RpcMessage) -> None:
    """Audit a call whose name or arguments have the wrong type: the SDK refuses it, unaudited."""
    if found.get("method") != CALL_METHOD or not is_request(found) or call_of(found) is not None:
        return
    params: Mapping[str, Any] = found.get("params") or {}
    name = params.get("name")
    tool = here.view.view.lookup(name) if isinstance(name, str) else None
    wrong = InvalidInput("the arguments of a call must be an object", field="params.arguments")
    refusal = dispatcher.record_refusal(
        here.caller, full_name(tool) if tool else UNREADABLE_CALL, wrong, here.context
    )
    if isinstance(refusal, RateLimited):
        raise refusal


def call_of(found: RpcMessage) -> tuple[str, dict[str, Json]] | None:
    """The name and the arguments of a `tools/call`; None for other methods and wrong types."""
    if found.get("method") != CALL_METHOD:
        return None
    params: Mapping[str, Any] = found.get("params") or {}
    name, arguments = params.get("name"), params.get("arguments")
    if not isinstance(name, str) or not (arguments is None or isinstance(arguments, dict)):
        return None
    return name, cast(dict[str, Json], arguments or {})


def parse_body(body: bytes) -> RpcMessage | list[Any]:
    """A message, or a batch whose members are validated later."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ParseError(f"the body is not JSON: {error.msg}", position=error.pos) from None
    found = _check_batch(cast(Any, found)) if isinstance(found, list) else parse_message(found)
    if _is_too_deep(body, found):
        raise InvalidInput(
            f"the frame is nested too deeply: at most {MAX_DEPTH} levels; flatten it",
            field="params",
            max=MAX_DEPTH,
        )
    return found


def parse_message(found: Any) -> RpcMessage:
    """One JSON-RPC message: a request, a notification or a response."""
    if not isinstance(found, dict):
        raise InvalidRequest("the body is JSON, but not an object", expected="object")
    fields = cast(RpcMessage, found)
    if fields.get("jsonrpc") != "2.0":
        raise InvalidRequest('"jsonrpc" must be "2.0"', field="jsonrpc", expected="2.0")
    if "method" not in fields:
        _check_response(fields)
    elif not isinstance(fields["method"], str):
        raise InvalidRequest('"method" must be a string', field="method", expected="string")
    if "id" in fields and not _is_id(fields["id"]):
        raise InvalidRequest('"id" must be a string or an integer', field="id")
    if not isinstance(fields.get("params", {}), dict):
        raise InvalidRequest('"params" must be an object', field="params", expected="object")
    return fields


def is_request(fields: RpcMessage) -> bool:
    return "method" in fields and "id" in fields


def get_request_id(found: Any) -> str | int | None:
    """The id to answer with, if it can be read."""
    id_ = cast(RpcMessage, found).get("id") if isinstance(found, dict) else None
    return id_ if _is_id(id_) else None


def validate_request(
    headers: Headers, found: RpcMessage, tool: AnyTool | None
) -> InboundModernRoute:
    """The client and revision that a modern request declares; or ProtocolRejection.

    The checks are the SDK's own, in its order; the errors have our codes.
    """
    require_known_version(headers)
    if "method" not in found:
        raise InvalidRequest(
            "this revision takes requests and notifications only, no responses", field="method"
        )
    duplicated = find_duplicated_routing_header(headers.items())
    if duplicated is not None:
        twice = f"{duplicated} header appears more than once"
        raise to_rejection(InboundLadderRejection(HEADER_MISMATCH, twice))
    route = classify_inbound_request(found, headers=dict(headers.items()))
    if isinstance(route, InboundLadderRejection):
        raise to_rejection(route)
    if tool is not None and _has_mirrored_arguments(tool):
        wrong = validate_mcp_param_headers(input_schema(tool), _arguments(found), headers)
        if wrong is not None:
            raise to_rejection(wrong)
    return route


def require_known_version(headers: Headers) -> None:
    """Reject an unsupported revision."""
    version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
    if version is not None:
        wrong = unsupported_protocol_version_rejection(version)
        if wrong is not None:
            raise to_rejection(wrong)


def add_mirrored_headers(scope: Scope, found: RpcMessage, tool: AnyTool | None) -> Scope:
    """The scope of a message from stdio, which has no headers, with those of an HTTP client."""
    ours = (MCP_METHOD_HEADER, MCP_NAME_HEADER, MCP_PARAM_HEADER_PREFIX.lower())
    others = [it for it in scope["headers"] if not it[0].decode("latin-1").startswith(ours)]
    added = [(name.encode(), value.encode()) for name, value in _mirrored_headers(found, tool)]
    return {**scope, "headers": [*others, *added]}


def _check_batch(members: list[Any]) -> list[Any]:
    if not members:
        raise InvalidRequest("a batch holds at least one message")
    if len(members) > MAX_BATCH:
        raise InvalidRequest(f"a batch holds at most {MAX_BATCH} messages", max=MAX_BATCH)
    return members


def _check_response(fields: RpcMessage) -> None:
    if "result" not in fields and "error" not in fields:
        raise InvalidRequest('"method" is missing', field="method", expected="string")
    if "id" not in fields:
        raise InvalidRequest('"id" is missing', field="id")


def _is_id(id_: Any) -> bool:
    return isinstance(id_, str | int) and not isinstance(id_, bool)


def _is_too_deep(body: bytes, found: RpcMessage | list[Any]) -> bool:
    limit = MAX_DEPTH + ENVELOPE_DEPTH
    # Fast path for nearly every message: fewer brackets than levels.
    if body.count(b"[") + body.count(b"{") <= limit:
        return False
    return measure_depth(found, limit) > limit


@cached_per_tool
def _has_mirrored_arguments(tool: AnyTool) -> bool:
    return bool(x_mcp_header_map(input_schema(tool)))


def _mirrored_headers(found: RpcMessage, tool: AnyTool | None) -> Iterator[tuple[str, str]]:
    method = str(found.get("method", ""))
    yield MCP_METHOD_HEADER, encode_header_value(method)
    params: Mapping[str, Any] = found.get("params") or {}
    name = params.get(NAME_PARAMS.get(method, ""))
    if not isinstance(name, str):
        return
    yield MCP_NAME_HEADER, encode_header_value(name)
    if tool is not None:
        given = mcp_param_headers(x_mcp_header_map(input_schema(tool)), _arguments(found))
        yield from ((header.lower(), value) for header, value in given.items())


def _arguments(found: RpcMessage) -> dict[str, Any]:
    """The arguments of a call whose tool was looked up: an object, or none."""
    return found["params"].get("arguments") or {}
