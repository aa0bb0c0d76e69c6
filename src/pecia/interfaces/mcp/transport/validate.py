"""Validation of a modern request before it is handled. Pure.

The checks are the SDK's own, in its order; the errors have our codes.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from mcp.shared.inbound import (
    MCP_PROTOCOL_VERSION_HEADER,
    InboundLadderRejection,
    InboundModernRoute,
    classify_inbound_request,
    find_duplicated_routing_header,
    unsupported_protocol_version_rejection,
    validate_mcp_param_headers,
    x_mcp_header_map,
)
from mcp_types import HEADER_MISMATCH
from starlette.datastructures import Headers

from pecia.interfaces.mcp.errors import to_rejection
from pecia.interfaces.mcp.transport.jsonrpc import RpcMessage
from pecia.interfaces.mcp.views.endpoint_view import EndpointView
from pecia.kernel.errors import InvalidRequest
from pecia.kernel.tool.model import AnyTool
from pecia.kernel.tool.validate import SCHEMA_CACHE_SIZE, input_schema


def validate_request(
    headers: Headers, found: RpcMessage, offer: EndpointView
) -> InboundModernRoute:
    """The client and revision that the request declares; or ProtocolRejection."""
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
    if found["method"] == "tools/call":
        _check_mirrored(headers, found["params"], offer)
    return route


def require_known_version(headers: Headers) -> None:
    """Reject an unsupported revision."""
    version = headers.get(MCP_PROTOCOL_VERSION_HEADER)
    if version is not None:
        wrong = unsupported_protocol_version_rejection(version)
        if wrong is not None:
            raise to_rejection(wrong)


def _check_mirrored(headers: Headers, params: Mapping[str, Any], offer: EndpointView) -> None:
    """Arguments that a schema mirrors into headers must be the same in both places."""
    name, arguments = params.get("name"), cast(object, params.get("arguments") or {})
    tool = offer.find(name) if isinstance(name, str) else None
    if tool is None or not isinstance(arguments, dict) or not _has_mirrored_arguments(tool):
        return
    given = cast(dict[str, Any], arguments)
    wrong = validate_mcp_param_headers(input_schema(tool), given, headers)
    if wrong is not None:
        raise to_rejection(wrong)


@lru_cache(SCHEMA_CACHE_SIZE)
def _has_mirrored_arguments(tool: AnyTool) -> bool:
    return bool(x_mcp_header_map(input_schema(tool)))
