"""The API as an OpenAPI 3.1 document: one operation per tool, from the same schemas. Pure."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, cast

from pecia import __version__
from pecia.interfaces.http.routes.tools import may_get, tool_path
from pecia.kernel.errors import Cancelled, PeciaError, iter_errors
from pecia.kernel.tool.model import AnyTool
from pecia.kernel.tool.validate import input_schema, output_schema
from pecia.kernel.tool.view import full_name

JSON = "application/json"
ERROR = {
    "type": "object",
    "required": ["error"],
    "properties": {
        "error": {
            "type": "object",
            "required": ["code", "message", "retryable"],
            "properties": {
                "code": {"type": "string", "description": "Stable: act on this one."},
                "message": {"type": "string", "description": "For people; it may change."},
                "retryable": {"type": "boolean"},
                "field": {"type": "string", "description": "Which argument it is about."},
            },
        }
    },
}


def build_document(
    tools: Sequence[AnyTool], *, server_url: str, needs_token: bool
) -> dict[str, Any]:
    """The whole document. `needs_token` is false in local mode for the owner."""
    named = sorted(tools, key=full_name)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Pecia",
            "version": __version__,
            "description": "Every tool of this server. Errors have the same shape everywhere.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": server_url}],
        "tags": [{"name": feature} for feature in sorted({it.feature for it in named})],
        "paths": {tool_path(it): {"post": _operation(it, needs_token)} for it in named},
        "components": {
            "schemas": {
                "Error": ERROR,
                **{name: it for tool in named for name, it in _schemas(tool)},
            },
            "responses": _responses(),
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    }


def operation_id(tool: AnyTool) -> str:
    """The full name in characters that every code generator accepts."""
    return full_name(tool).replace(".", "_").replace("/", "_")


def _operation(tool: AnyTool, needs_token: bool) -> dict[str, Any]:
    name = operation_id(tool)
    answer = {"$ref": f"#/components/schemas/{name}_out"} if output_schema(tool) else {}
    security: list[dict[str, list[str]]] = [{"bearer": [tool.scope.value]}]
    if tool.public or not needs_token:
        security.append({})
    statuses = sorted({it.code.http for it in _documented_errors()})
    return {
        "operationId": name,
        "tags": [tool.feature],
        "summary": tool.title or full_name(tool),
        "description": tool.description,
        "security": security,
        "x-pecia": {
            "toolset": tool.feature,
            "tool": tool.name,
            "full_name": full_name(tool),
            "scope": tool.scope.value,
            "read_only": tool.read_only,
            "get": may_get(tool),
        },
        "requestBody": {
            "required": True,
            "content": {JSON: {"schema": {"$ref": f"#/components/schemas/{name}_in"}}},
        },
        "responses": {
            "200": {
                "description": "The result of the tool.",
                "content": {JSON: {"schema": answer}},
            },
            **{str(it): {"$ref": f"#/components/responses/{it}"} for it in statuses},
        },
    }


def _schemas(tool: AnyTool) -> list[tuple[str, Any]]:
    name = operation_id(tool)
    found = {f"{name}_in": input_schema(tool), f"{name}_out": output_schema(tool)}
    return [
        (key, _rebase_refs(it, f"#/components/schemas/{key}")) for key, it in found.items() if it
    ]


def _rebase_refs(node: Any, to: str) -> Any:
    """A schema with its references rewritten for its place in the document."""
    if isinstance(node, Mapping):
        pairs = cast(Mapping[str, Any], node).items()
        return {
            key: _rebase_ref(it, to) if key == "$ref" else _rebase_refs(it, to) for key, it in pairs
        }
    if isinstance(node, list):
        return [_rebase_refs(it, to) for it in cast(list[Any], node)]
    return node


def _rebase_ref(reference: Any, to: str) -> Any:
    if isinstance(reference, str) and reference.startswith("#"):
        return to + reference[1:]
    return _rebase_refs(reference, to)


def _responses() -> dict[str, Any]:
    """One response per status, with an example of every error that comes with it."""
    by_status = sorted(_documented_errors(), key=lambda it: it.code.http)
    return {
        str(status): _response([*errors])
        for status, errors in groupby(by_status, key=lambda it: it.code.http)
    }


def _response(errors: Sequence[type[PeciaError]]) -> dict[str, Any]:
    return {
        "description": " ".join(dict.fromkeys(_meaning(it) for it in errors)),
        "content": {
            JSON: {
                "schema": {"$ref": "#/components/schemas/Error"},
                "examples": {it.code.name: {"value": {"error": _example(it)}} for it in errors},
            }
        },
    }


def _documented_errors() -> list[type[PeciaError]]:
    """The errors that a client can receive, from the table of error codes."""
    table = PeciaError.__module__
    listed = (next(it for it in kind.__mro__ if it.__module__ == table) for kind in iter_errors())
    return [it for it in dict.fromkeys(listed) if it is not Cancelled]


def _meaning(error: type[PeciaError]) -> str:
    return " ".join((error.__doc__ or "").split("\n")[0].split())


def _example(error: type[PeciaError]) -> dict[str, Any]:
    code = error.code
    return {"code": code.name, "message": _meaning(error), "retryable": code.retryable}
