"""The one place where a failure becomes MCP: a result that a model reads, or a JSON-RPC error."""

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
"""The field of a failure that names what the client would have to be able to do."""

RESOURCE_NOT_FOUND = -32002


class ProtocolRejection(Exception):
    """A failure for which the newer revision has a number of its own."""

    def __init__(self, error: PeciaError, number: int) -> None:
        super().__init__(error.message)
        self.error = error
        self.number = number


def to_rejection(found: InboundLadderRejection) -> ProtocolRejection:
    """A refusal of the SDK's: its number and its words, and a code of ours."""
    told = cast(dict[str, Json], found.data or {})
    if found.code == INVALID_PARAMS:
        return ProtocolRejection(
            InvalidInput(found.message, field="params._meta", **told), found.code
        )
    return ProtocolRejection(InvalidRequest(found.message, **told), found.code)


def tool_error(error: PeciaError) -> dict[str, Any]:
    """A failure inside a tool: a result that the model can read and act on."""
    return {
        **COMPLETE_RESULT,
        "isError": True,
        "content": [{"type": "text", "text": f"[{error.code.name}] {error.message}"}],
        "structuredContent": {"error": error.payload()},
    }


def is_protocol_error(error: PeciaError, *, modern: bool) -> bool:
    """Whether a failure of a call is no tool's: a wrong name, or a fault of the server."""
    is_ours = isinstance(error, ToolNotFound | InternalError)
    return is_ours or (modern and CAPABILITIES_FIELD in error.fields)


def rpc_error(error: PeciaError, *, modern: bool) -> MCPError:
    """A failure of the protocol, as the SDK wants it raised."""
    found = error_object(error, modern=modern)
    return MCPError(int(str(found["code"])), error.message, found["data"])


def resource_error(error: PeciaError, *, modern: bool, by_reference: bool) -> MCPError:
    """The same for reading: older revisions have a number of their own for what is not there.

    The compiled-knowledge reference uses that number for something else, and keeps its own.
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
    """A whole JSON-RPC answer that says what is wrong."""
    if isinstance(failure, ProtocolRejection):
        found = {**error_object(failure.error, modern=True), "code": failure.number}
    else:
        found = error_object(failure, modern=modern)
    return orjson.dumps({"jsonrpc": "2.0", "id": request_id, "error": found})


def error_data(error: PeciaError) -> dict[str, Json]:
    """What a program needs to know; the message stands beside it."""
    payload = error.payload()
    del payload["message"]
    return payload
