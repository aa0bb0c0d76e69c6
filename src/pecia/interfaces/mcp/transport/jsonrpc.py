"""The body of a POST as JSON-RPC, or the error. Pure."""

from typing import Any, TypeAlias, cast

import orjson

from pecia.kernel.errors import InvalidRequest, ParseError

RpcMessage: TypeAlias = dict[str, Any]

MAX_BATCH = 100
"""Requests in one batch."""


def parse_body(body: bytes) -> RpcMessage | list[Any]:
    """A message, or a batch whose members are validated later."""
    try:
        found = orjson.loads(body)
    except orjson.JSONDecodeError as error:
        raise ParseError(f"the body is not JSON: {error.msg}", position=error.pos) from None
    if isinstance(found, list):
        return _check_batch(cast(list[Any], found))
    return parse_message(found)


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
