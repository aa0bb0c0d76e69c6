"""The headers that mirror a body, for messages from stdio, which have none. Pure."""

from collections.abc import Iterator, Mapping
from typing import Any, cast

from mcp.shared.inbound import (
    MCP_METHOD_HEADER,
    MCP_NAME_HEADER,
    MCP_PARAM_HEADER_PREFIX,
    NAME_BEARING_METHODS,
    encode_header_value,
    mcp_param_headers,
    x_mcp_header_map,
)
from starlette.types import Scope

from pecia.interfaces.mcp.views.endpoint_view import EndpointView
from pecia.kernel.tool.validate import input_schema

# The extension mirrors the id of its task.
NAME_PARAMS = {**NAME_BEARING_METHODS, **dict.fromkeys(("tasks/get", "tasks/update"), "taskId")}


def add_mirrored_headers(scope: Scope, found: Mapping[str, Any], offer: EndpointView) -> Scope:
    """The scope with the headers that an HTTP client would have sent."""
    ours = (MCP_METHOD_HEADER, MCP_NAME_HEADER, MCP_PARAM_HEADER_PREFIX.lower())
    others = [it for it in scope["headers"] if not it[0].decode("latin-1").startswith(ours)]
    added = [(name.encode(), value.encode()) for name, value in _headers(found, offer)]
    return {**scope, "headers": [*others, *added]}


def _headers(found: Mapping[str, Any], offer: EndpointView) -> Iterator[tuple[str, str]]:
    method = str(found.get("method", ""))
    yield MCP_METHOD_HEADER, encode_header_value(method)
    params: Mapping[str, Any] = found.get("params") or {}
    name = params.get(NAME_PARAMS.get(method, ""))
    if not isinstance(name, str):
        return
    yield MCP_NAME_HEADER, encode_header_value(name)
    tool = offer.find(name) if method == "tools/call" else None
    arguments = params.get("arguments")
    if tool is not None and isinstance(arguments, dict):
        declared = x_mcp_header_map(input_schema(tool))
        given = mcp_param_headers(declared, cast(dict[str, Any], arguments))
        yield from ((header.lower(), value) for header, value in given.items())
