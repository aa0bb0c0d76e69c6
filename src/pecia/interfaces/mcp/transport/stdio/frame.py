"""JSON-RPC messages as the stdio transport sees them. Pure; the standard library alone."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, TypeAlias, cast

from pecia.kernel.errors import InternalError, PeciaError, iter_errors

VERSION_META_KEY = "io.modelcontextprotocol/protocolVersion"

RequestId: TypeAlias = str | int


def get_method(frame: Any) -> str | None:
    found = cast(Any, frame).get("method") if isinstance(frame, dict) else None
    return found if isinstance(found, str) else None


def request_ids(frame: Any) -> set[RequestId]:
    """The ids that must be answered: that of a request, or those of the requests in a batch."""
    members = cast(list[Any], frame) if isinstance(frame, list) else [frame]
    found = (parse_id(it.get("id")) for it in members if get_method(it) is not None)
    return {it for it in found if it is not None}


def parse_id(given: object) -> RequestId | None:
    """An id as the protocol defines it; None for anything else."""
    return given if isinstance(given, str | int) and not isinstance(given, bool) else None


def is_notification(frame: Any) -> bool:
    """Whether it gets no response, not even an error: a notification or a response."""
    if not isinstance(frame, dict):
        return False
    fields = cast(dict[str, Any], frame)
    return "id" not in fields if "method" in fields else is_response(fields)


def is_response(frame: Any) -> bool:
    return isinstance(frame, dict) and ("result" in frame or "error" in frame)


def modern_version(frame: Any) -> str | None:
    """The revision in `_meta`, as the stateless revisions have it."""
    params = cast(Any, frame).get("params") if isinstance(frame, dict) else None
    meta = cast(Any, params).get("_meta") if isinstance(params, dict) else None
    version = cast(dict[str, Any], meta).get(VERSION_META_KEY) if isinstance(meta, dict) else None
    # A value that fits no header is in the body too, and the server rejects it there.
    is_sane = isinstance(version, str) and version.isascii() and version.isprintable()
    return version if is_sane else None


def error_frame(request_id: RequestId | None, error: PeciaError) -> bytes:
    """An error response. Its message includes the hint: editors show nothing else."""
    payload = error.payload()
    if hint := error.fields.get("hint"):
        payload["message"] = f"{error.message} (try: {hint})"
    return _error(request_id, _error_object(payload))


def assign_ids(body: bytes, waiting: set[RequestId]) -> Iterator[bytes]:
    """A server message made fit for its client; removes the answered ids from `waiting`.

    A server that refuses a request before reading it answers with `id: null`, or not in JSON-RPC
    at all. No client finds its request in that: the error is repeated under each waiting id.
    """
    found = json.loads(body)
    members: list[Any] = cast(list[Any], found) if isinstance(found, list) else [found]
    error = _unaddressed_error(found)
    if error is not None and waiting:
        yield from (_error(it, error) for it in sorted(waiting, key=str))
        waiting.clear()
    elif all(_is_rpc(it) for it in members):
        waiting.difference_update(_answered_ids(members))
        yield body
    else:
        raise ValueError("the server's answer is not JSON-RPC")


def error_message(body: bytes) -> str | None:
    """The message of an error that a server answered with."""
    try:
        found = json.loads(body)
    except (ValueError, RecursionError):
        return None
    error = cast(Any, found).get("error") if isinstance(found, dict) else None
    message = cast(Any, error).get("message") if isinstance(error, dict) else None
    return message if isinstance(message, str) else None


def _is_rpc(found: Any) -> bool:
    return isinstance(found, dict) and cast(Any, found).get("jsonrpc") == "2.0"


def _answered_ids(members: Iterable[Any]) -> set[RequestId]:
    found = (parse_id(it.get("id")) for it in members if is_response(it))
    return {it for it in found if it is not None}


def _unaddressed_error(found: Any) -> dict[str, Any] | None:
    """The error object of a response that names no request."""
    if not isinstance(found, dict) or parse_id(cast(Any, found).get("id")) is not None:
        return None
    error = cast(Any, found).get("error")
    if not isinstance(error, dict) or "message" not in error:
        return None
    fields = cast(dict[str, Any], error)
    return fields if isinstance(fields.get("code"), int) else _error_object(fields)


def _error_object(payload: dict[str, Any]) -> dict[str, Any]:
    """An error of Pecia in the form that JSON-RPC has for errors."""
    name = str(payload.get("code", ""))
    known = next((it for it in iter_errors() if it.code.name == name), InternalError)
    facts = {key: it for key, it in payload.items() if key != "message"}
    return {"code": known.code.rpc, "message": str(payload["message"]), "data": facts}


def _error(request_id: RequestId | None, error: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": request_id, "error": error}).encode()
