"""The one place where an error becomes MCP: a tool result for the model, or a JSON-RPC error."""

from collections.abc import Iterator
from typing import Any, cast

import orjson
from mcp.shared.exceptions import MCPError
from mcp.shared.inbound import InboundLadderRejection
from mcp_types import MISSING_REQUIRED_CLIENT_CAPABILITY

from pecia.interfaces.mcp.content import COMPLETE_RESULT
from pecia.kernel.errors import (
    INVALID_PARAMS,
    InternalError,
    InvalidInput,
    InvalidRequest,
    Json,
    NotFound,
    PeciaError,
    ToolNotFound,
)

CAPABILITIES_FIELD = "required_capabilities"
"""The error field that names the missing client capabilities."""

RESOURCE_NOT_FOUND = -32002


class ProtocolRejection(Exception):
    """An error for which the modern revision has a JSON-RPC code of its own."""

    def __init__(self, error: PeciaError, number: int) -> None:
        super().__init__(error.message)
        self.error = error
        self.number = number


def to_rejection(found: InboundLadderRejection) -> ProtocolRejection:
    """An error of the SDK: its JSON-RPC code and message, and a code of ours."""
    told = cast(dict[str, Json], found.data or {})
    if found.code == INVALID_PARAMS:
        return ProtocolRejection(
            InvalidInput(found.message, field="params._meta", **told), found.code
        )
    return ProtocolRejection(InvalidRequest(found.message, **told), found.code)


def tool_error(error: PeciaError, *, for_agents: bool = False) -> dict[str, Any]:
    """An error inside a tool, as a result that the model can read and act on."""
    lines = [f"[{error.code.name}] {error.message}", *(_advice(error) if for_agents else ())]
    return {
        **COMPLETE_RESULT,
        "isError": True,
        "content": [{"type": "text", "text": "\n".join(lines)}],
        "structuredContent": {"error": error.payload()},
    }


# What a model needs to correct its call, and how the text says it. References promise other texts.
_ADVICE = (
    ("allowed", "Allowed"),
    ("available", "There are"),
    ("expected", "Expected"),
)
MAX_ADVICE_ITEMS = 20
# A model calls tools: what a hint for everybody names as a command, by the tool at this endpoint.
_TOOLS = {
    "`pecia source list`": "`list_sources`",
    "`lake.list_files`": "`list_files`",
    "`memory.memory_list`": "`memory_list`",
}


def _advice(error: PeciaError) -> Iterator[str]:
    payload = error.payload()
    for name, label in _ADVICE:
        value = payload.get(name)
        shown = [*map(str, value[:MAX_ADVICE_ITEMS])] if isinstance(value, list) else [str(value)]
        if value is not None and value != [] and not all(it in error.message for it in shown):
            yield f"{label}: {', '.join(shown)}"
    yield from _bounds(payload.get("min"), payload.get("max"))
    yield from _problems(payload.get("problems"))
    if isinstance(hint := payload.get("hint"), str):
        for command, tool in _TOOLS.items():
            hint = hint.replace(command, tool)
        yield f"Next: {hint}"


def _bounds(least: Json, most: Json) -> Iterator[str]:
    """Both limits: a model that is told one of them meets the other next."""
    if least is not None and most is not None:
        yield f"Allowed: {least} to {most}"
    elif most is not None:
        yield f"At most: {most}"
    elif least is not None:
        yield f"At least: {least}"


def _problems(found: Json) -> Iterator[str]:
    """What else is wrong with the call: an argument of another name is often why one is missing."""
    for it in found[:MAX_ADVICE_ITEMS] if isinstance(found, list) else ():
        if isinstance(it, dict):
            expected = it.get("expected")
            names = f": {', '.join(map(str, expected))}" if isinstance(expected, list) else ""
            yield f"Also: {it.get('message')}{names}"


def is_protocol_error(error: PeciaError, *, modern: bool) -> bool:
    """Whether an error of a call is not the tool's: an unknown name, or a server error."""
    is_ours = isinstance(error, ToolNotFound | InternalError)
    return is_ours or (modern and CAPABILITIES_FIELD in error.fields)


def rpc_error(error: PeciaError, *, modern: bool) -> MCPError:
    """A protocol error, as the SDK wants it raised."""
    found = error_object(error, modern=modern)
    return MCPError(int(str(found["code"])), error.message, found["data"])


def resource_error(error: PeciaError, *, modern: bool, by_reference: bool) -> MCPError:
    """The same for resources: older revisions have a code of their own for "not found".

    The compiled-knowledge reference uses that code for something else, and keeps its own.
    """
    if isinstance(error, NotFound) and not modern and not by_reference:
        return MCPError(RESOURCE_NOT_FOUND, error.message, error_data(error))
    return rpc_error(error, modern=modern)


def error_object(error: PeciaError, *, modern: bool) -> dict[str, Json]:
    """The `error` of a JSON-RPC answer."""
    missing = error.fields.get(CAPABILITIES_FIELD)
    if modern and missing is not None:
        number = MISSING_REQUIRED_CLIENT_CAPABILITY
        data = {**error_data(error), "requiredCapabilities": missing}
    else:
        number, data = error.code.number(modern=modern), error_data(error)
    return {"code": number, "message": error.message, "data": data}


def error_envelope(
    failure: PeciaError | ProtocolRejection, request_id: Json, *, modern: bool
) -> bytes:
    """A complete JSON-RPC error response."""
    if isinstance(failure, ProtocolRejection):
        found = {**error_object(failure.error, modern=True), "code": failure.number}
    else:
        found = error_object(failure, modern=modern)
    return orjson.dumps({"jsonrpc": "2.0", "id": request_id, "error": found})


def error_data(error: PeciaError) -> dict[str, Json]:
    """The `data` of an error, for programs; the message is beside it."""
    payload = error.payload()
    del payload["message"]
    return payload
